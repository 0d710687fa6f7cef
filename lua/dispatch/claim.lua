--[[
  Take the next job of a queue to be started on a node, if it is still the caller's turn, the queue is below its limit and the job is
  still the next. The turn then stays with the job, until its start has been answered.

  ARGV[1]  token      of who has the turn
  ARGV[2]  id         of the request that is the next
  ARGV[3]  number     of its job that is to be started again, or ''
  ARGV[4]  node       JSON: what the record is to hold of the node and its lease
  ARGV[5]  startMs    how long the start may take
  ARGV[6]  keepMs     how long an ended request is kept
  ARGV[7]  nonce      makes the id by which the node knows the attempt: no node has heard of it before
  Returns  {'CLAIMED', number, attempt}, or {'LATE'} | {'PAUSED'} | {'FULL'} | {'CHANGED'}: ask for the turn anew
  Time     O(log N), and one for each job that was cancelled while it was the next, at most 1,000
]]
--@include include/dispatch-job.lua
local token, id, number, node = ARGV[1], ARGV[2], ARGV[3], cjson.decode(ARGV[4])
local startMs, keepMs, nonce = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local MOST_CANCELLED = 1000

local found = redis.call('HMGET', queue, 'limit', 'paused', 'turn', 'turnUntil', 'deleting')
if found[3] ~= token or found[5] or tonumber(found[4]) <= nowMs then return { 'LATE' } end
if found[2] == 'true' then return { 'PAUSED' } end
if redis.call('ZCARD', active) >= tonumber(found[1]) then return { 'FULL' } end

local record
if number ~= '' then
  local again = id .. '-' .. number
  if not redis.call('ZSCORE', retries, again) then return { 'CHANGED' } end
  redis.call('ZREM', retries, again)
  record = recordOf(number)
  if not record or record.state ~= 'waiting' or redis.call('HGET', request, 'cancelledAt') then return { 'CHANGED' } end
else
  if redis.call('ZRANGE', line, 0, 0)[1] ~= id then return { 'CHANGED' } end
  local last = redis.call('HMGET', request, 'next', 'total')
  local next, total = tonumber(last[1]) or 0, tonumber(last[2]) or 0
  local end_ = math.min(total, next + MOST_CANCELLED)
  while next < end_ and redis.call('HEXISTS', jobs, next) == 1 do next = next + 1 end
  local isFound = next < end_
  if next + (isFound and 1 or 0) >= total then
    redis.call('ZREM', line, id)
  end
  -- The request may be forgotten, when all of its jobs were cancelled before they were the next.
  if total > 0 then redis.call('HSET', request, 'next', next + (isFound and 1 or 0)) end
  if not isFound then return { 'CHANGED' } end
  number = tostring(next)
  record = { attempt = 0, waitingAt = tonumber(redis.call('HGET', request, 'acceptedAt')) }
end

local job = id .. '-' .. number
record.attempt = record.attempt + 1
record.externalId = job .. '-' .. nonce
-- Of the attempt before: its last step is none of this one.
record.isPosted, record.isCancelTold, record.reason, record.runningAt, record.step = nil, nil, nil, nil, nil
for field, value in pairs(node) do record[field] = value end
move(number, job, record, 'waiting', 'starting', keepMs)
redis.call('HDEL', queue, 'blocked')
redis.call('HSET', queue, 'turn', job, 'turnUntil', string.format('%.0f', nowMs + startMs))
return { 'CLAIMED', tonumber(number), record.attempt }
