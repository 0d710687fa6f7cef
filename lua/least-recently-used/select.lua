--[[
  Pick the eligible member that was selected longest ago and count the pick, `count` times in a row.

  KEYS, ARGV  see include/ranked-keys.lua
  Returns  {'', for each pick the lines id, count, record}, or {'ASK'} where there is nobody, or somebody on trial among them:
           narrowed/select.lua sees to both
  Ties     of those that were never selected: by member id, in the order of its bytes
  Time     O(k log N) for k picks
]]
--@include include/ranked-keys.lua
--@include include/views.lua
--@include include/recency.lua
local ids = redis.call('ZRANGE', ranks, 0, count - 1)
if #ids == 0 then return { 'ASK' } end
local records = redis.call('HMGET', members, unpack(ids))
for n = 1, #ids do
  if isOnTrial(records[n]) then return { 'ASK' } end
end
local selected = redis.call('HMGET', counts, unpack(ids))
local sequence = redis.call('INCRBY', assigned, count) - count

-- Who was picked goes to the end, so that a short pool is gone round in the same order.
local lines, ranked, counted = {}, {}, {}
for n = 1, count do
  local at = (n - 1) % #ids + 1
  selected[at] = (tonumber(selected[at] or nil) or 0) + 1
  lines[n * 3 - 2], lines[n * 3 - 1], lines[n * 3] = ids[at], selected[at], records[at]
  ranked[at * 2 - 1], ranked[at * 2] = string.format('%d', sequence + n), ids[at]
end
for at, id in ipairs(ids) do counted[at * 2 - 1], counted[at * 2] = id, selected[at] end
for at, id in ipairs(ids) do
  if string.byte(records[at], -1) ~= 10 then
    local inViews = viewsIn(records[at])
    moveInViews(views, id, inViews, rankText(redis.call('ZSCORE', ranks, id)), inViews, rankText(ranked[at * 2 - 1]))
  end
end
redis.call('ZADD', ranks, unpack(ranked))
redis.call('HSET', counts, unpack(counted))
return { '', table.concat(lines, '\n') }
