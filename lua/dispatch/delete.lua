--[[
  Begin or end the deletion of a queue, between which its requests are deleted in steps. Safe to repeat.

  KEYS[1]  queue     hash  see include/dispatch-job.lua
  KEYS[2]  active    zset  likewise
  KEYS[3]  requests  zset  request -> its place in the order of arrival
  KEYS[4..]                what else the queue has
  ARGV[1]  force     '1': what waits is no obstacle
  Returns  'BEGUN' | 'DELETED', or 'MISSING' | 'BUSY'
  Time     O(1)
]]
local queue, active, requests = KEYS[1], KEYS[2], KEYS[3]
local force = ARGV[1] == '1'

local found = redis.call('HMGET', queue, 'pool', 'waiting', 'deleting')
if not found[1] then return 'MISSING' end
if redis.call('ZCARD', active) > 0 then return 'BUSY' end
if not found[3] and not force and tonumber(found[2]) > 0 then return 'BUSY' end
redis.call('HSET', queue, 'deleting', 1)
if redis.call('EXISTS', requests) == 1 then return 'BEGUN' end
redis.call('UNLINK', unpack(KEYS))
return 'DELETED'
