--[[
  Make a process the one that acts on a job: whoever did before is refused from now on.

  ARGV[1]  id       of the request
  ARGV[2]  number   of the job
  ARGV[3]  attempt  that it is about
  ARGV[4]  owner    token of who acts from now on
  Returns  {record as JSON, payload as JSON, '1' when the job is not wanted any more or ''}; nil where there is no such attempt
  Time     O(1)
]]
--@include include/dispatch-job.lua
local id, number, attempt, owner = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local record = recordOf(number)
if not record or record.attempt ~= attempt then return nil end
local job = id .. '-' .. number
local isWanted = redis.call('SISMEMBER', cancels, job) == 0
if isActive[record.state] then
  redis.call('HSET', owners, job, owner)
  move(number, job, record, record.state, record.state, 0)
end
return { cjson.encode(record), redis.call('HGET', payloads, number) or '{}', isWanted and '' or '1' }
