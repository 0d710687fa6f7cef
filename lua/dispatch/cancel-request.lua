--[[
  Cancel a request: all of its jobs that wait at once, and mark those that are starting or running. Safe to repeat.

  ARGV[1]  id      of the request
  ARGV[2]  keepMs  how long an ended request is kept
  Returns  'CANCELLED' | 'ENDED', or 'MISSING'
  Time     O(N) for the N jobs of the queue that are starting or running, which its limit bounds, and for those of the request that were
           started before, if any job waits to be started again
]]
--@include include/dispatch-job.lua
local id, keepMs = ARGV[1], tonumber(ARGV[2])

local CHUNK = 1000

local found = redis.call('HMGET', request, 'total', 'endedAt', 'waiting', 'next')
if not found[1] then return 'MISSING' end
if found[2] then return 'ENDED' end
redis.call('ZREM', line, id)
redis.call('HSETNX', request, 'cancelledAt', string.format('%.0f', nowMs))
local waiting = tonumber(found[3])
-- Redis takes no -0.
if waiting > 0 then
  count('waiting', -waiting)
  count('cancelled', waiting)
end
for _, job in ipairs(redis.call('ZRANGE', active, 0, -1)) do
  if string.sub(job, 1, #id + 1) == id .. '-' then markUnwanted(string.sub(job, #id + 2), job) end
end
if redis.call('EXISTS', retries) == 1 then
  local started = tonumber(found[4])
  for from = 0, started - 1, CHUNK do
    local chunk = {}
    for number = from, math.min(from + CHUNK, started) - 1 do chunk[#chunk + 1] = id .. '-' .. number end
    redis.call('ZREM', retries, unpack(chunk))
  end
end
endRequest(keepMs)
return 'CANCELLED'
