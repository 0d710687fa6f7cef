--[[
  Create a queue, or change its settings. Safe to repeat.

  KEYS[1]  queue  hash  see include/dispatch-job.lua
  ARGV[1]  mode   'put' | 'patch', which creates none
  ARGV[2]  given  how many of what follows are settings to write; the rest are those that a new queue takes besides
  ARGV[3..]       field, value, ...
  Returns  'CREATED' | 'CHANGED', or 'MISSING' | 'DELETING'
  Time     O(1)
]]
local queue = KEYS[1]
local mode, given = ARGV[1], tonumber(ARGV[2])

local found = redis.call('HMGET', queue, 'pool', 'deleting')
if found[2] then return 'DELETING' end
if not found[1] and mode == 'patch' then return 'MISSING' end
if not found[1] then
  redis.call('HSET', queue, 'waiting', 0, 'starting', 0, 'running', 0)
  redis.call('HSET', queue, 'finished', 0, 'failed', 0, 'cancelled', 0, 'lost', 0)
  if #ARGV > given + 2 then redis.call('HSET', queue, unpack(ARGV, given + 3)) end
end
if given > 0 then redis.call('HSET', queue, unpack(ARGV, 3, given + 2)) end
return found[1] and 'CHANGED' or 'CREATED'
