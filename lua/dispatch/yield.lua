--[[
  Give the turn up, unless it is somebody else's by now.

  KEYS[1]  queue  hash  see include/dispatch-job.lua
  ARGV[1]  token  of who had it
  Returns  1 when it was given up, 0 when not
]]
local queue = KEYS[1]
local token = ARGV[1]

if redis.call('HGET', queue, 'turn') ~= token then return 0 end
return redis.call('HDEL', queue, 'turn', 'turnUntil') > 0 and 1 or 0
