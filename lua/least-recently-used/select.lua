--[[
  Pick the eligible member that was selected longest ago and count the pick, `count` times in a row.

  KEYS[1]  ranks     zset    member id -> the number of its last selection (see recency.lua)
  KEYS[2]  counts    hash    member id -> how often it was selected
  KEYS[3]  members   hash    member id -> record
  KEYS[4]  assigned  string  how many selections the pool has made
  KEYS[5]  settings  hash    read only when there is nothing to pick
  KEYS[6]  eligible  zset    likewise
  KEYS[7]  withdrawn zset    likewise
  ARGV[1]  strategy  the one the caller believes the pool to have
  ARGV[2]  count     1 to 1000
  Returns  {'', for each pick the lines id, count, record}, or {'STALE' | 'EMPTY_POOL' | 'NONE_ELIGIBLE'}
  Ties     of those that were never selected: by member id, in the order of its bytes
  Time     O(k log N) for k picks
]]
--@include include/why-none.lua
local ranks, counts, members, assigned = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local settings, eligible, withdrawn = KEYS[5], KEYS[6], KEYS[7]
local strategy, count = ARGV[1], tonumber(ARGV[2])

local ids = redis.call('ZRANGE', ranks, 0, count - 1)
if #ids == 0 then return { whyNone(settings, strategy, eligible, withdrawn) } end
local records = redis.call('HMGET', members, unpack(ids))
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
redis.call('ZADD', ranks, unpack(ranked))
redis.call('HSET', counts, unpack(counted))
return { '', table.concat(lines, '\n') }
