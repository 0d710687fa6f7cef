--[[
  Delete a pool with everything that belongs to it. Safe to repeat.

  KEYS[1]   settings  hash
  KEYS[2]   leases    zset  live leases: while there are any, the pool stays
  KEYS[3..]           every other key of the pool, but what is kept of targets
  ARGV[1]   strategy  that the caller believes the pool to have
  ARGV[2]   force     '1': live leases end with it
  Returns  'DELETED', or 'STALE' | 'MOVING' | 'BUSY'
  Time     O(1): memory is freed in the background
]]
local settings, leases = KEYS[1], KEYS[2]
local strategy, force = ARGV[1], ARGV[2] == '1'

local found = redis.call('HMGET', settings, 'strategy', 'leaving')
if found[1] ~= strategy then return 'STALE' end
if found[2] then return 'MOVING' end
if not force and redis.call('EXISTS', leases) == 1 then return 'BUSY' end
redis.call('UNLINK', unpack(KEYS))
return 'DELETED'
