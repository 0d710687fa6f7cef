--[[
  Give the turn up, unless it is somebody else's by now, and write down why nothing was started.

  KEYS[1]  queue  hash  see include/dispatch-job.lua
  ARGV[1]  token  of who had it
  ARGV[2]  why    a code, for those who look at the queue
  Returns  1 when it was given up, 0 when not
]]
local queue = KEYS[1]
local token, why = ARGV[1], ARGV[2]

if redis.call('HGET', queue, 'turn') ~= token then return 0 end
redis.call('HSET', queue, 'blocked', why)
redis.call('HDEL', queue, 'turn', 'turnUntil')
return 1
