--[[
  Ask for the turn to start the next job of a queue, or keep it for longer. One process has it at a time, until it gives it up or its
  time is over; so jobs are started one after another, in their order.

  KEYS[1]  queue    hash  see include/dispatch-job.lua
  KEYS[2]  active   zset  likewise
  KEYS[3]  retries  zset  likewise
  KEYS[4]  line     zset  likewise
  ARGV[1]  token    of who asks
  ARGV[2]  holdMs   for how long
  Returns  {'GO', request, number of a job that is to be started again or ''},
           {'TAKEN', ms that it is taken for} | {'PAUSED'} | {'FULL'} | {'MISSING'},
           or {'EMPTY', ms until a job is to be started again, or -1}
  Time     O(log N)
]]
local queue, active, retries, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, holdMs = ARGV[1], tonumber(ARGV[2])

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', queue, 'limit', 'paused', 'turn', 'turnUntil', 'deleting')
if not found[1] or found[5] then return { 'MISSING' } end
local takenMs = found[3] and found[3] ~= token and found[4] - nowMs or 0
if takenMs > 0 then return { 'TAKEN', takenMs } end

local function answer(...)
  if found[3] == token then redis.call('HDEL', queue, 'turn', 'turnUntil') end
  return { ... }
end
if found[2] == 'true' then return answer('PAUSED') end
if redis.call('ZCARD', active) >= tonumber(found[1]) then return answer('FULL') end

local again = redis.call('ZRANGE', retries, 0, 0, 'WITHSCORES')
local isAgain = again[1] and tonumber(again[2]) <= nowMs
local first = not isAgain and redis.call('ZRANGE', line, 0, 0)[1]
if not isAgain and not first then return answer('EMPTY', again[2] and again[2] - nowMs or -1) end
redis.call('HSET', queue, 'turn', token, 'turnUntil', string.format('%.0f', nowMs + holdMs))
if not isAgain then return { 'GO', first, '' } end
local dash = string.find(again[1], '-', 1, true)
return { 'GO', string.sub(again[1], 1, dash - 1), string.sub(again[1], dash + 1) }
