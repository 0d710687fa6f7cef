--[[
  Carry one step of a pool's eligible members from the index of the strategy that it leaves to that of the one it has.
  Safe to repeat and to run from several processes: a member that has been carried is passed over.

  ARGV[1]  strategy  that the pool has
  ARGV[2]  leaving   the one it leaves
  ARGV[3]  after     the last id of the step before, '' for the first
  ARGV[4]  step      how many members at most
  Returns  the last id of this step, '' when all are carried, or false when the pool is no longer in this change
  Time     O(n log N) for a step of n members
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@index from
--@index to
local strategy, leaving, after, step = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local found = redis.call('HMGET', settings, 'strategy', 'leaving')
if found[1] ~= strategy or found[2] ~= leaving then return false end

local first = after == '' and '-' or '(' .. after
local ids = redis.call('ZRANGEBYLEX', eligible, first, '+', 'LIMIT', 0, step)
for _, id in ipairs(ids) do
  local record = readRecord(redis.call('HGET', members, id))
  local score, assigned = from.standing(id, record)
  if score then
    local left = record.views ~= '' and from.viewRank(id)
    from.leave(id, record.weight)
    to.enter(id, record, score, assigned, record.weight)
    moveInViews(views, id, record.views, left, record.views, record.views ~= '' and to.viewRank(id))
    keepRecord(id, record)
  end
end
if #ids == 0 then
  redis.call('HDEL', settings, 'leaving')
  return ''
end
return ids[#ids]
