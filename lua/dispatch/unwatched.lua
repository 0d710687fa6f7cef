--[[
  Which jobs of a queue no process has watched for a while, and whether there is anything to do in it.

  KEYS[1]  queue   hash  see include/dispatch-job.lua
  KEYS[2]  active  zset  likewise
  ARGV[1]  afterMs for how long
  ARGV[2]  most    jobs at once
  Returns  {the time in ms, how many jobs wait, are starting or running, then those that were not watched}
  Time     O(log N + most)
]]
local queue, active = KEYS[1], KEYS[2]
local afterMs, most = tonumber(ARGV[1]), ARGV[2]

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = { nowMs, (tonumber(redis.call('HGET', queue, 'waiting')) or 0) + redis.call('ZCARD', active) }
for _, job in ipairs(redis.call('ZRANGEBYSCORE', active, '-inf', nowMs - afterMs, 'LIMIT', 0, most)) do
  reply[#reply + 1] = job
end
return reply
