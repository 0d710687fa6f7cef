--[[
  Let the results of probes count. One counts while its claim is the member's, see probe-claim.lua: a member that was removed,
  disabled or given another value since, or that is to be probed by other settings, stays as it is. Safe to repeat.

  KEYS[14..]           of the strategy's index, and as the last one
             probing   zset  <claim> <member id> -> when the claim ends, in ms
  ARGV[1]    strategy  the one the caller composed this script for
  ARGV[2]    probe     settings that the members were probed by, as JSON
  ARGV[3]    retryMs   when one is probed again that there is no verdict on, unless the settings say sooner
  ARGV[4..]            four for each member: id · claim · verdict, 'eligible' | 'unhealthy' | 'none' · in words what the probe found,
                       '' keeps what is known
  Returns  {'', next: when the first of them is due again, in ms, or -1 for never, then how many results counted as eligible,
           unhealthy and none}, or {'STALE' | 'MOVING'}
  Time     O(n log N) for n members
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@include include/facts.lua
--@index index
local probing = KEYS[#KEYS]
local strategy, probe, retryMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

local refusal = outdated(strategy)
if refusal then return { refusal } end

local isCurrent = redis.call('HGET', settings, 'probe') == probe
local intervalMs = cjson.decode(probe).intervalMs
local counts = { eligible = 0, unhealthy = 0, none = 0 }
local next = -1

local function probeAgainIn(id, waitMs)
  redis.call('ZADD', probes, string.format('%.0f', nowMs + waitMs), id)
  if next < 0 or nowMs + waitMs < next then next = nowMs + waitMs end
end

local function conclude(id, verdict, words)
  local record, facts = readRecord(redis.call('HGET', members, id)), readFacts(id)
  local score, assigned, _, reason = standingOf(index, id, record)
  local was = asItWas(record, reason)
  if verdict == 'eligible' then
    facts.probe = '-'
    -- What began a cooldown stays to be read.
    if string.sub(facts.evidence, 1, 6) == 'probe:' then facts.evidence = '' end
  else
    if verdict == 'unhealthy' then facts.probe = 'u' end
    if words ~= '' then facts.evidence = words end
  end
  reconsider(index, id, record, facts, was, score, assigned)
end

for at = 4, #ARGV, 4 do
  local id, claim, verdict, words = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  redis.call('ZREM', probing, claim .. ' ' .. id)
  local due = tonumber(redis.call('ZSCORE', probes, id) or nil)
  if due == tonumber(claim) and due > nowMs then
    if isCurrent then
      conclude(id, verdict, words)
      counts[verdict] = counts[verdict] + 1
      if verdict ~= 'eligible' then
        probeAgainIn(id, verdict == 'none' and math.min(retryMs, intervalMs) or intervalMs)
      end
    else
      probeAgainIn(id, 0)
    end
  end
end
return { '', next, counts.eligible, counts.unhealthy, counts.none }
