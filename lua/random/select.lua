--[[
  Pick any eligible member, with a chance in proportion to its weight, and count the pick, `count` times in a row.

  KEYS, ARGV  see include/ranked-keys.lua
  Returns  {'', for each pick the lines id, count, record}, fewer where the next is on trial; {'ASK'} where that is the first,
           or where there is nobody: narrowed/select.lua sees to both
  Ties     do not happen but by the rounding of times: then by member id
  Time     O(k log N) for k picks
]]
--@include include/ranked-keys.lua
--@include include/views.lua
--@include include/race.lua
if redis.call('EXISTS', ranks) == 0 then return { 'ASK' } end
local sequence = redis.call('INCRBY', assigned, count) - count

local lines = {}
for n = 1, count do
  local head = redis.call('ZRANGE', ranks, 0, 0, 'WITHSCORES')
  local id = head[1]
  local record = redis.call('HGET', members, id)
  if isOnTrial(record) then
    redis.call('DECRBY', assigned, count - n + 1)
    break
  end
  local weight = tonumber(string.match(record, '^%d+'))
  local before = tonumber(head[2])
  local rank = rankAfter(before, weight, sequence + n, id)
  redis.call('ZADD', ranks, rank, id)
  if string.byte(record, -1) ~= 10 then
    local inViews = viewsIn(record)
    moveInViews(views, id, inViews, rankText(before), inViews, rankText(rank))
  end
  lines[n * 3 - 2], lines[n * 3 - 1], lines[n * 3] = id, redis.call('HINCRBY', counts, id, 1), record
end
if #lines == 0 then return { 'ASK' } end
return { '', table.concat(lines, '\n') }
