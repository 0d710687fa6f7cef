--[[
  Take in a request whose payloads have been written: from now on all of its jobs wait, and not one before. Safe to repeat.

  KEYS[1]  queue     hash  see include/dispatch-job.lua
  KEYS[2]  line      zset  likewise
  KEYS[3]  requests  zset  request -> its place in the order of arrival
  KEYS[4]  ends      zset  see include/dispatch-job.lua
  KEYS[5]  request   hash  likewise
  KEYS[6]  staged    hash  the payloads
  KEYS[7]  payloads  hash  where they belong
  ARGV[1]  id
  ARGV[2]  digest      of what was asked for: a repeat must ask for the same
  ARGV[3]  total       jobs
  ARGV[4]  priority    0 to 1,000, the higher one first
  ARGV[5]  maxWaiting  jobs that may wait in the queue
  ARGV[6..]            field, value, ... of the request
  Returns  'ACCEPTED' | 'KNOWN', or 'MISSING' | 'REUSED' | 'FULL' | 'UNSTAGED'
  Time     O(log N) for N requests
]]
local queue, line, requests, ends, request, staged, payloads = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local id, digest, total = ARGV[1], ARGV[2], tonumber(ARGV[3])
local priority, maxWaiting = tonumber(ARGV[4]), tonumber(ARGV[5])
local HIGHEST, PLACES = 1000, 2 ^ 40

local found = redis.call('HMGET', queue, 'pool', 'deleting', 'waiting')
if not found[1] or found[2] then return 'MISSING' end
local known = redis.call('HGET', request, 'digest')
if known then return known == digest and 'KNOWN' or 'REUSED' end
if found[3] + total > maxWaiting then return 'FULL' end
if redis.call('HLEN', staged) ~= total then return 'UNSTAGED' end

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', nowMs, 'LIMIT', 0, 10)) do
  redis.call('ZREM', ends, gone)
  redis.call('ZREM', requests, gone)
end
-- One of that id has been forgotten; what the index knew of it goes first.
redis.call('ZREM', ends, id)

local arrival = redis.call('HINCRBY', queue, 'arrivals', 1)
redis.call('RENAME', staged, payloads)
redis.call('PERSIST', payloads)
redis.call('HSET', request, 'id', id, 'digest', digest, 'total', total, 'next', 0, 'acceptedAt', string.format('%.0f', nowMs), unpack(ARGV, 6))
redis.call('HSET', request, 'waiting', total, 'starting', 0, 'running', 0)
redis.call('ZADD', requests, arrival, id)
redis.call('ZADD', line, (HIGHEST - priority) * PLACES + arrival, id)
redis.call('HINCRBY', queue, 'waiting', total)
return 'ACCEPTED'
