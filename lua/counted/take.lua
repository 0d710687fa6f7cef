--[[
  Count a selection of the member that a strategy without Lua of its own has chosen, if it is still eligible.

  KEYS[1]  counts    zset    member id -> score (see stride.lua)
  KEYS[2]  members   hash    member id -> record
  KEYS[3]  assigned  string  how many selections the pool has made
  KEYS[4]  settings  hash    read only when the member is not eligible
  KEYS[5]  eligible  zset    likewise
  KEYS[6]  withdrawn zset    likewise
  KEYS[7]  views     zset    see views.lua; only of members whose record names some
  ARGV[1]  strategy  the one the caller believes the pool to have
  ARGV[2]  id        of the chosen member
  Returns  {'', the lines id, count, record}, or {'STALE' | 'EMPTY_POOL' | 'NONE_ELIGIBLE'}, or {'NOT_ELIGIBLE'}: choose again
  Time     O(log N)
]]
--@include include/stride.lua
--@include include/views.lua
--@include include/why-none.lua
local counts, members, assigned = KEYS[1], KEYS[2], KEYS[3]
local settings, eligible, withdrawn, views = KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local strategy, id = ARGV[1], ARGV[2]

local score = redis.call('ZSCORE', counts, id)
if not score then
  if redis.call('EXISTS', counts) == 0 then return { whyNone(settings, strategy, eligible, withdrawn) } end
  return { 'NOT_ELIGIBLE' }
end
local record = redis.call('HGET', members, id)
local weight = tonumber(string.match(record, '^%d+'))
local picked = countAt(tonumber(score), weight) + 1
redis.call('ZADD', counts, scoreOf(picked, weight), id)
local inViews = viewsIn(record)
moveInViews(views, id, inViews, rankText(score), inViews, rankText(scoreOf(picked, weight)))
redis.call('INCR', assigned)
return { '', id .. '\n' .. picked .. '\n' .. record }
