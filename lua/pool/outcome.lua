--[[
  Take in how work with members went, one outcome after the other, and withdraw those of whom it says that they should rest.

  ARGV[1]  strategy  the one the caller composed this script for
  ARGV[2..]          three for each outcome: id · 's' success, 'f' failure, 'b' banned · when the work began, in ms, '' for unknown
  Returns  {'', and two for each outcome: why the member is withdrawn now, '-' if it is not, '' where there is no such member;
           until when, in ms, '-' where that is not known}, or {'STALE' | 'MOVING'}
  Time     O(n log N) for n outcomes
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
local found = redis.call('HMGET', settings, 'health', 'banMs')
local health = found[1] and found[1] ~= '' and cjson.decode(found[1]) or nil
local banMs = tonumber(found[2])
-- What is null in JSON is nothing here.
for field, value in pairs(health or {}) do
  if value == cjson.null then health[field] = nil end
end
--@include include/health.lua

local function takeIn(id, text, outcome, beganMs)
  local record, known = readRecord(text), redis.call('HGET', factsOf, id)
  local facts = parseFacts(known)
  local score, assigned, _, reason, returnsAt = standingOf(index, id, record)
  if not isOfNow(facts, beganMs) then return reason, returnsAt end
  if outcome == 's' then
    succeed(facts)
  elseif outcome == 'b' then
    cool(id, facts, 'banned', banMs, reason == '-')
  elseif health then
    failWith(id, facts, reason == '-')
  end
  if formatFacts(facts) == (known or NO_FACTS) then return reason, returnsAt end
  return reconsider(index, id, record, facts, asItWas(record, reason), score, assigned)
end

local reply = { '' }
for at = 2, #ARGV, 3 do
  local text = redis.call('HGET', members, ARGV[at])
  local reason, returnsAt = '', '-'
  if text then reason, returnsAt = takeIn(ARGV[at], text, ARGV[at + 1], tonumber(ARGV[at + 2])) end
  reply[#reply + 1], reply[#reply + 2] = reason, returnsAt
end
return reply
