--[[
  Delete a pool with everything that belongs to it. Safe to repeat.

  KEYS[1]   settings  hash
  KEYS[2..]           every other key of the pool
  ARGV[1]   strategy  that the caller believes the pool to have
  Returns  'DELETED', or 'STALE' | 'MOVING'
  Time     O(1): memory is freed in the background
]]
local settings = KEYS[1]
local strategy = ARGV[1]

local found = redis.call('HMGET', settings, 'strategy', 'leaving')
if found[1] ~= strategy then return 'STALE' end
if found[2] then return 'MOVING' end
redis.call('UNLINK', unpack(KEYS))
return 'DELETED'
