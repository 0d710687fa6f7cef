--[[
  Put one step of a list into the pool: new members, members that come back, and changes of those that are there.
  An absent field keeps its value. A member that was disabled, or removed while disabled, stays disabled.

  ARGV[1]  strategy  the one the caller composed this script for
  ARGV[2]  rules     fingerprint of the rules that the caller judged by, '' for none
  ARGV[3]  token     of the import lock, or '' for none
  ARGV[4]  lockTtlMs
  ARGV[5]  dryRun    '1': count what would happen, write nothing
  ARGV[6..]          eight for each member: id · value as JSON, '=' where it is the id, '' absent · labels as JSON, '' absent ·
                     weight, '' absent · capacity, '-' none, '' absent · the views it is to be in · how it violates the policy,
                     or '' · its value and labels as the caller judged them (lines of its record), '' where they are all given
  Returns  {'', added, updated, restored, unchanged}, or {'STALE' | 'MOVING' | 'LOCK_LOST'},
           or {'CHANGED'}: a member was changed meanwhile, judge again
  Time     O(n log N) for a step of n members
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@include include/facts.lua
--@include include/given.lua
--@index index
local strategy, rules, token, lockTtlMs, dryRun = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'

local refusal = outdated(strategy, rules) or lockLost(token, lockTtlMs)
if refusal then return { refusal } end

local FIRST, FIELDS = 6, 8
local ids = {}
for at = FIRST, #ARGV, FIELDS do ids[#ids + 1] = ARGV[at] end
local present = redis.call('HMGET', members, unpack(ids))
for n = 1, #ids do
  if not isStillSo(ARGV[FIRST + n * FIELDS - 1], present[n]) then return { 'CHANGED' } end
end
local past = redis.call('HMGET', history, unpack(ids))
local known = redis.call('HMGET', factsOf, unpack(ids))
local policy = redis.call('HMGET', settings, 'initialCount', 'candidates')
local initialCount, isProbed = policy[1], policy[2] == 'probe'

local function given(at, record)
  local value, labels, weight, capacity = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  if value ~= '' then record.value = value == '=' and '' or value end
  if labels ~= '' then record.labels = labels == '{}' and '' or labels end
  if weight ~= '' then record.weight = tonumber(weight) end
  if capacity ~= '' then record.capacity = capacity end
  record.views = ARGV[at + 5]
  return record
end

-- A change of weight or capacity keeps the member's score and its number of selections. Another value is another resource,
-- which is to be probed anew, and at once: a probe of the old one that is under way does not count.
local function update(id, record, facts, was, value)
  local changed = record.weight
  record.weight = was.weight
  local score, assigned, _, reason = standingOf(index, id, record)
  record.weight = changed
  was.reason = reason
  if isProbed and record.value ~= value then
    facts.probe, facts.evidence = 'c', ''
    redis.call('ZREM', probes, id)
  end
  reconsider(index, id, record, facts, was, score, assigned)
end

-- What a probe found before it was removed is old.
local function comeBack(id, record, facts, text)
  local score, assigned = readStanding(text)
  if isProbed or facts.probe ~= '-' then facts.probe, facts.evidence = isProbed and 'c' or '-', '' end
  reconsider(index, id, record, facts, NOT_HERE, score, assigned)
  redis.call('HDEL', history, id)
  redis.call('ZREM', removed, id)
end

local function begin(id, record, facts)
  local score = initialCount == 'level' and restoredScore(index, 'level', 0, record) or tonumber(initialCount) * STRIDE
  if isProbed then facts.probe = 'c' end
  local reason, returnsAt = verdictOn(facts)
  place(index, id, record, score, 0, reason, returnsAt, NOT_HERE)
  keepRecord(id, record)
  if reason ~= '-' then keepFacts(id, facts) end
end

local added, updated, restored, unchanged = 0, 0, 0, 0
for n, id in ipairs(ids) do
  local at = FIRST + (n - 1) * FIELDS
  local violation = ARGV[at + 6]
  if present[n] then
    local record, facts = readRecord(present[n]), parseFacts(known[n])
    local was, value = asItWas(record), record.value
    if writeRecord(given(at, record)) == present[n] and facts.violation == violation then
      unchanged = unchanged + 1
    else
      updated = updated + 1
      facts.violation = violation
      if not dryRun then update(id, record, facts, was, value) end
    end
  else
    local record = given(at, { weight = 1, capacity = '-', offset = 0, value = '', labels = '' })
    local facts = parseFacts(past[n] and string.match(past[n], '\n(.*)$'))
    facts.violation = violation
    if past[n] then
      restored = restored + 1
      if not dryRun then comeBack(id, record, facts, past[n]) end
    else
      added = added + 1
      if not dryRun then begin(id, record, facts) end
    end
  end
end
return { '', added, updated, restored, unchanged }
