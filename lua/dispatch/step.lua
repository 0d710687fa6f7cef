--[[
  Take a job one step on, if it is where the caller believes it to be and the caller is the one who acts on it.

  ARGV[1]  id       of the request
  ARGV[2]  number   of the job
  ARGV[3]  owner    token of who acts
  ARGV[4]  before   state that the job is in
  ARGV[5]  state    that it goes to, or the same
  ARGV[6]  changes  JSON: fields of the record to write
  ARGV[7]  text     for the log, or ''
  ARGV[8]  answered '1': the start has been answered, or is not waited for; the next one may begin
  ARGV[9]  againMs  of a job that waits again: for how long
  ARGV[10] keepMs   how long an ended request is kept
  ARGV[11] step     token of the step: when it is repeated, it is not taken again
  Returns  the record as JSON; nil when it was not the caller's, and nothing was changed
  Time     O(log N)
]]
--@include include/dispatch-job.lua
local id, number, owner, before, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local changes, text, answered = cjson.decode(ARGV[6]), ARGV[7], ARGV[8] == '1'
local againMs, keepMs, step = tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11]

local record = recordOf(number)
if not record then return nil end
if record.step == step then return cjson.encode(record) end
local job = id .. '-' .. number
if redis.call('HGET', owners, job) ~= owner or record.state ~= before then return nil end
-- Nobody wants it to be started again.
if state == 'waiting' and (redis.call('HGET', request, 'cancelledAt') or redis.call('SISMEMBER', cancels, job) == 1) then
  state = 'cancelled'
end
for field, value in pairs(changes) do record[field] = value end
record.step = step
move(number, job, record, before, state, keepMs)
if state == 'waiting' then redis.call('ZADD', retries, nowMs + againMs, job) end
note(number, text)
if answered then endTurn(job) end
return cjson.encode(record)
