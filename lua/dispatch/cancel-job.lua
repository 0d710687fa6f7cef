--[[
  Cancel a job: at once where it waits; one that is starting or running is marked, and whoever watches it sees to it. Safe to repeat.

  ARGV[1]  id      of the request
  ARGV[2]  number  of the job
  ARGV[3]  keepMs  how long an ended request is kept
  Returns  'CANCELLED' | 'MARKED' | 'ENDED', or 'MISSING'
  Time     O(log N)
]]
--@include include/dispatch-job.lua
local id, number, keepMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

local found = redis.call('HMGET', request, 'total', 'cancelledAt', 'acceptedAt')
if not found[1] or tonumber(number) >= tonumber(found[1]) then return 'MISSING' end
local job = id .. '-' .. number
local record = recordOf(number)
local state = record and record.state or 'waiting'
if isActive[state] then
  markUnwanted(number, job)
  return 'MARKED'
end
if state ~= 'waiting' or found[2] then return 'ENDED' end
redis.call('ZREM', retries, job)
move(number, job, record or { attempt = 0, waitingAt = tonumber(found[3]) }, 'waiting', 'cancelled', keepMs)
note(number, 'cancelled while it waited')
return 'CANCELLED'
