--[[
  Pick any eligible member, with a chance in proportion to its weight, and count the pick, `count` times in a row.

  KEYS[1]  ranks     zset    member id -> the time of its next arrival (see race.lua)
  KEYS[2]  counts    hash    member id -> how often it was selected
  KEYS[3]  members   hash    member id -> record
  KEYS[4]  assigned  string  how many selections the pool has made
  KEYS[5]  settings  hash    read only when there is nothing to pick
  KEYS[6]  eligible  zset    likewise
  KEYS[7]  withdrawn zset    likewise
  ARGV[1]  strategy  the one the caller believes the pool to have
  ARGV[2]  count     1 to 1000
  Returns  {'', for each pick the lines id, count, record}, or {'STALE' | 'EMPTY_POOL' | 'NONE_ELIGIBLE'}
  Ties     do not happen but by the rounding of times: then by member id
  Time     O(k log N) for k picks
]]
--@include include/why-none.lua
--@include include/race.lua
local ranks, counts, members, assigned = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local settings, eligible, withdrawn = KEYS[5], KEYS[6], KEYS[7]
local strategy, count = ARGV[1], tonumber(ARGV[2])

if redis.call('EXISTS', ranks) == 0 then return { whyNone(settings, strategy, eligible, withdrawn) } end
local sequence = redis.call('INCRBY', assigned, count)

local lines = {}
for n = 1, count do
  local head = redis.call('ZRANGE', ranks, 0, 0, 'WITHSCORES')
  local id = head[1]
  local record = redis.call('HGET', members, id)
  local weight = tonumber(string.match(record, '^%d+'))
  redis.call('ZADD', ranks, arrivalAfter(tonumber(head[2]), weight, sequence .. ' ' .. n .. '\n' .. id), id)
  lines[n * 3 - 2], lines[n * 3 - 1], lines[n * 3] = id, redis.call('HINCRBY', counts, id, 1), record
end
return { '', table.concat(lines, '\n') }
