--[[
  Pick the eligible member with the fewest assignments and count the pick, `count` times in a row.

  KEYS[1]  counts    zset    member id -> score (see stride.lua)
  KEYS[2]  members   hash    member id -> record
  KEYS[3]  assigned  string  how many selections the pool has made
  KEYS[4]  views     zset    see views.lua; only of members whose record names some
  ARGV[1]  count     1 to 1000
  Returns  {'', for each pick the lines id, count, record}, fewer where the next is on trial; {'ASK'} where that is the first,
           or where there is nobody: narrowed/select.lua sees to both
  Ties     by member id, in the order of its bytes, as a sorted set has them
  Time     O(log N) for one, O(k log N) for k
]]
--@include include/stride.lua
local counts, members, assigned, views = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local count = tonumber(ARGV[1])

-- Nearly every call: one pick, which falls on a member of weight 1 that is in no view. It stands first, free of what the others need.
local id = count == 1 and redis.call('ZRANGE', counts, 0, 0)[1]
local record = id and redis.call('HGET', members, id)
local isOfWeightOne = record and string.sub(record, 1, 2) == '1 '
if isOfWeightOne and string.byte(record, -1) == 10 then
  local score = redis.call('ZINCRBY', counts, STRIDE, id)
  redis.call('INCR', assigned)
  return { '', id .. '\n' .. score / STRIDE .. '\n' .. record }
end
--@include include/views.lua
if isOfWeightOne and not isOnTrial(record) then
  local score = tonumber(redis.call('ZINCRBY', counts, STRIDE, id))
  local inViews = viewsIn(record)
  moveInViews(views, id, inViews, rankText(score - STRIDE), inViews, rankText(score))
  redis.call('INCR', assigned)
  return { '', id .. '\n' .. score / STRIDE .. '\n' .. record }
end
local lines, left = {}, count
--@include least-assigned/level.lua
while left > 0 do
  local picked = pickLevel(left)
  if not picked then break end
  left = left - picked
  if picked == 0 then break end
end
--@include least-assigned/merge.lua
if left > 0 then left = left - mergePicks(left) end
if left == count then return { 'ASK' } end
redis.call('INCRBY', assigned, count - left)
return { '', table.concat(lines, '\n') }
