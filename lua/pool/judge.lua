--[[
  Judge one step of a pool's members by rules that have changed: the policy, whether candidates are probed, and the filters, which
  say in what views a member is. The last step says that the views are whole. Safe to repeat and to run from several
  processes: of those that judge the same step one gets it done.

  ARGV[1]  strategy  the one the caller composed this script for
  ARGV[2]  rules     fingerprint of the rules that the caller judged by
  ARGV[3]  after     the last id of the step before, '' for the first
  ARGV[4]  last      the last id of this step, '' when there are no more
  ARGV[5..]          four for each member: id · value and labels as judged (lines of its record) · the views it is to be in ·
                     how it violates the policy, or ''
  Returns  {''}, or {'STALE' | 'MOVING'}, or {'OTHER'}: this step was done by somebody else
  Time     O(n log N) for a step of n members
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@include include/facts.lua
--@include include/given.lua
--@index index
local strategy, rules, after, last = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local refusal = outdated(strategy, rules)
if refusal then return { refusal } end
local found = redis.call('HMGET', settings, 'judging', 'candidates', 'filters')
if found[1] ~= after then return { 'OTHER' } end

local FIRST, FIELDS = 5, 4
for at = FIRST, #ARGV, FIELDS do
  local id, text = ARGV[at], redis.call('HGET', members, ARGV[at])
  -- One that was removed meanwhile is none to judge.
  if text then
    local record, facts = readRecord(text), readFacts(id)
    local inViews, violation = record.views, facts.violation
    -- Whoever changed a member meanwhile has judged it by these same rules.
    if isStillSo(ARGV[at + 1], text) then inViews, violation = ARGV[at + 2], ARGV[at + 3] end
    local isTrusted = found[2] ~= 'probe' and facts.probe ~= '-'
    if record.views ~= inViews or facts.violation ~= violation or isTrusted then
      local score, assigned, _, reason = standingOf(index, id, record)
      local was = asItWas(record, reason)
      record.views, facts.violation = inViews, violation
      if isTrusted then facts.probe, facts.evidence = '-', '' end
      reconsider(index, id, record, facts, was, score, assigned)
    end
  end
end
if last ~= '' then
  redis.call('HSET', settings, 'judging', last)
else
  redis.call('HDEL', settings, 'judging')
  redis.call('HSET', settings, 'ready', found[3])
end
return { '' }
