--[[
  Change one member: enable or disable it, its labels, weight or capacity. Safe to repeat.

  ARGV[1]  strategy  the one the caller composed this script for
  ARGV[2]  id
  ARGV[3]  state     'eligible' lifts `disabled` and `cooling` only; 'disabled'; '' keeps it
  ARGV[4]  labels    as JSON, '' keeps them
  ARGV[5]  weight    '' keeps it
  ARGV[6]  capacity  '-' for the pool's, '' keeps it
  Returns  {''} when done, or {'STALE' | 'MOVING' | 'MISSING'}
  Time     O(log N)
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@index index
local strategy, id, state = ARGV[1], ARGV[2], ARGV[3]
local labels, weight, capacity = ARGV[4], ARGV[5], ARGV[6]

local refusal = outdated(strategy)
if refusal then return { refusal } end
local text = redis.call('HGET', members, id)
if not text then return { 'MISSING' } end

local record = readRecord(text)
local score, assigned, _, reason, returnsAt = standingOf(index, id, record)
local oldWeight = record.weight

if state == 'disabled' and reason ~= 'disabled' then
  reason, returnsAt = 'disabled', '-'
elseif state == 'eligible' and (reason == 'disabled' or reason == 'cooling') then
  score = restoredScore(index, redis.call('HGET', settings, 'restore'), score)
  reason, returnsAt = '-', '-'
end
if labels ~= '' then record.labels = labels == '{}' and '' or labels end
if weight ~= '' then record.weight = tonumber(weight) end
if capacity ~= '' then record.capacity = capacity end

place(index, id, record, score, assigned, reason, returnsAt, oldWeight)
keepRecord(id, record)
return { '' }
