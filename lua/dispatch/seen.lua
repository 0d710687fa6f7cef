--[[
  Say that jobs are being watched, and learn which of them are not wanted any more, and on which somebody else acts by now.

  KEYS[1]  active   zset  see include/dispatch-job.lua
  KEYS[2]  cancels  set   likewise
  KEYS[3]  owners   hash  likewise
  ARGV[1..]         job, token of the process that says so, ...
  Returns  for each 'WANTED' | 'UNWANTED', or 'GONE': it has ended, or is somebody else's
  Time     O(n log N) for n jobs
]]
local active, cancels, owners = KEYS[1], KEYS[2], KEYS[3]

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local seen = {}
for n = 1, #ARGV, 2 do
  local job, owner = ARGV[n], ARGV[n + 1]
  if redis.call('HGET', owners, job) ~= owner then
    seen[#seen + 1] = 'GONE'
  else
    redis.call('ZADD', active, 'XX', nowMs, job)
    seen[#seen + 1] = redis.call('SISMEMBER', cancels, job) == 1 and 'UNWANTED' or 'WANTED'
  end
end
return seen
