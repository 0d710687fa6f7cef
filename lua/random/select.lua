--[[
  Pick any eligible member, with a chance in proportion to its weight, and count the pick, `count` times in a row.

  KEYS, ARGV  see include/ranked-keys.lua
  Returns  {'', for each pick the lines id, count, record}, or {'STALE' | 'EMPTY_POOL' | 'NONE_ELIGIBLE'}
  Ties     do not happen but by the rounding of times: then by member id
  Time     O(k log N) for k picks
]]
--@include include/why-none.lua
--@include include/ranked-keys.lua
--@include include/views.lua
--@include include/race.lua
if redis.call('EXISTS', ranks) == 0 then return { whyNone(settings, strategy, eligible, withdrawn) } end
local sequence = redis.call('INCRBY', assigned, count)

local lines = {}
for n = 1, count do
  local head = redis.call('ZRANGE', ranks, 0, 0, 'WITHSCORES')
  local id = head[1]
  local record = redis.call('HGET', members, id)
  local weight = tonumber(string.match(record, '^%d+'))
  local before = tonumber(head[2])
  local rank = arrivalAfter(before, weight, sequence .. ' ' .. n .. '\n' .. id)
  redis.call('ZADD', ranks, rank, id)
  if string.byte(record, -1) ~= 10 then
    local inViews = viewsIn(record)
    moveInViews(views, id, inViews, rankText(before), inViews, rankText(rank))
  end
  lines[n * 3 - 2], lines[n * 3 - 1], lines[n * 3] = id, redis.call('HINCRBY', counts, id, 1), record
end
return { '', table.concat(lines, '\n') }
