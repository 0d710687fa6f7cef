--[[
  Change one member: enable or disable it, let it cool, its labels, weight or capacity. Safe to repeat.

  ARGV[1]  strategy    the one the caller composed this script for
  ARGV[2]  rules       fingerprint of the rules that the caller judged by, '' for none
  ARGV[3]  id
  ARGV[4]  state       'eligible' lifts `disabled` and `cooling` only; 'disabled'; '' keeps it
  ARGV[5]  cooldownMs  from now on, '' for none; one that is running is not shortened
  ARGV[6]  labels      as JSON, '' keeps them
  ARGV[7]  weight      '' keeps it
  ARGV[8]  capacity    '-' for the pool's, '' keeps it
  ARGV[9]  views       that it is to be in
  ARGV[10] violation   how it violates the policy, or ''
  ARGV[11] basis       value and labels as the caller found them (lines of the record), '' where they make no difference
  Returns  {''} when done, or {'STALE' | 'MOVING' | 'MISSING'}, or {'CHANGED'}: the member was changed meanwhile, judge again
  Time     O(log N)
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@include include/facts.lua
--@include include/given.lua
--@index index
local strategy, rules, id, state, cooldownMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local labels, weight, capacity = ARGV[6], ARGV[7], ARGV[8]
local viewsOfIt, violation, basis = ARGV[9], ARGV[10], ARGV[11]

local refusal = outdated(strategy, rules)
if refusal then return { refusal } end
local text = redis.call('HGET', members, id)
if not text then return { 'MISSING' } end
if not isStillSo(basis, text) then return { 'CHANGED' } end

local record, facts = readRecord(text), readFacts(id)
local score, assigned, _, reason = standingOf(index, id, record)
local was = asItWas(record, reason)

if state == 'disabled' then
  facts.isDisabled = true
elseif state == 'eligible' then
  facts.isDisabled, facts.coolingUntil = false, 0
end
if cooldownMs ~= '' then
  facts.coolingUntil, facts.coolingSince = math.max(facts.coolingUntil, nowMs + cooldownMs), nowMs
  facts.evidence = 'cooldown set by hand'
end
facts.violation = violation
if labels ~= '' then record.labels = labels == '{}' and '' or labels end
if weight ~= '' then record.weight = tonumber(weight) end
if capacity ~= '' then record.capacity = capacity end
record.views = viewsOfIt

reconsider(index, id, record, facts, was, score, assigned)
return { '' }
