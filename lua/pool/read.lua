--[[
  Read members as they stand.

  ARGV[1]   strategy  the one the caller composed this script for
  ARGV[2..]           ids
  Returns  {'STALE' | 'MOVING'}, or {'', then seven for each id: record ('' when there is no such member), assigned, in-flight,
           reason ('-' for eligible), returnsAt in ms ('-' for none), all reasons that hold now, the one above first, a blank
           between, and the evidence for it, in words}
  Time     O(n log N) for n ids
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@include include/facts.lua
--@index index
local strategy = ARGV[1]

local refusal = outdated(strategy)
if refusal then return { refusal } end

local isProbing = (redis.call('HGET', settings, 'probe') or '') ~= ''

-- When a member that waits for a probe is probed next: at once, where that is over.
local function probedAt(id)
  local due = isProbing and tonumber(redis.call('ZSCORE', probes, id) or nil)
  return due and string.format('%.0f', math.max(due, nowMs)) or '-'
end

-- All reasons that a member is withdrawn for, and the evidence for the one that counts.
local function reasonsFor(reason, facts)
  if reason == '-' then return '', '' end
  local holding = { reason }
  local function add(other, holds)
    if holds and other ~= reason then holding[#holding + 1] = other end
  end
  add('disabled', facts.isDisabled)
  add('policy', facts.violation ~= '')
  add('candidate', facts.probe == 'c')
  add('unhealthy', facts.probe == 'u')
  add('cooling', facts.coolingUntil > nowMs)
  local evidence = reason == 'policy' and facts.violation or reason ~= 'disabled' and facts.evidence or ''
  return table.concat(holding, ' '), evidence
end

local reply = { '' }
for at = 2, #ARGV do
  local id, n = ARGV[at], #reply
  local text = redis.call('HGET', members, id)
  if text then
    local _, assigned, inFlight, reason, returnsAt = standingOf(index, id, readRecord(text))
    if reason == 'candidate' or reason == 'unhealthy' then returnsAt = probedAt(id) end
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = text, assigned, inFlight, reason, returnsAt
    reply[n + 6], reply[n + 7] = reasonsFor(reason, reason == '-' and noFacts() or readFacts(id))
  else
    for field = 1, 7 do reply[n + field] = '' end
  end
end
return reply
