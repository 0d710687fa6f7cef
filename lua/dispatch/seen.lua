--[[
  Say that jobs are being watched, and learn which of them are not wanted any more.

  KEYS[1]  active   zset  see include/dispatch-job.lua
  KEYS[2]  cancels  set   likewise
  ARGV[1..]         the jobs
  Returns  for each '1' when it is not wanted any more, or ''
  Time     O(n log N) for n jobs
]]
local active, cancels = KEYS[1], KEYS[2]

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local unwanted = {}
for n = 1, #ARGV do
  redis.call('ZADD', active, 'XX', nowMs, ARGV[n])
  unwanted[n] = redis.call('SISMEMBER', cancels, ARGV[n]) == 1 and '1' or ''
end
return unwanted
