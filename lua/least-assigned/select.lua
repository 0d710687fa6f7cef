--[[
  Pick the eligible member with the fewest assignments and count the pick, `count` times in a row.

  KEYS[1]  counts    zset    member id -> score (see stride.lua)
  KEYS[2]  members   hash    member id -> record
  KEYS[3]  assigned  string  how many selections the pool has made
  KEYS[4]  settings  hash    read only when there is nothing to pick
  KEYS[5]  eligible  zset    likewise
  KEYS[6]  withdrawn zset    likewise
  KEYS[7]  views     zset    see views.lua; only of members whose record names some
  ARGV[1]  strategy  the one the caller believes the pool to have
  ARGV[2]  count     1 to 1000
  Returns  {'', for each pick the lines id, count, record}, or {'STALE' | 'EMPTY_POOL' | 'NONE_ELIGIBLE'}
  Ties     by member id, in the order of its bytes, as a sorted set has them
  Time     O(log N) for one, O(k log N) for k
]]
--@include include/stride.lua
local counts, members, assigned = KEYS[1], KEYS[2], KEYS[3]
local settings, eligible, withdrawn, views = KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local strategy, count = ARGV[1], tonumber(ARGV[2])

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
if isOfWeightOne then
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
--@include include/why-none.lua
if #lines == 0 and redis.call('EXISTS', counts) == 0 then return { whyNone(settings, strategy, eligible, withdrawn) } end
--@include least-assigned/merge.lua
if left > 0 then mergePicks(left) end
redis.call('INCRBY', assigned, count)
return { '', table.concat(lines, '\n') }
