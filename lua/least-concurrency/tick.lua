--[[
  Do what is due in a pool: settle leases that have expired, take back into the index members that a raised capacity has
  room for, hand out what is free, and say when to look again. One bounded step; safe to repeat.

  KEYS     see include/lease-keys.lua
  KEYS[13] eligible  zset  ids of the eligible members
  Returns  {more: 1 when there is more to do at once, next: when something is due, in ms, or -1 for nothing}
  Time     O(n log N), at most 100 leases and 200 members a step
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/lease-keys.lua
--@include include/lend.lua
--@include include/settle.lua
--@include include/waiters.lua
local eligible = KEYS[13]
local SETTLE_STEP, READMIT_STEP = 100, 200
local WAITERS_MS = 1000

if not pool.strategy then return { 0, -1 } end

-- From the member after the last one of the step before, whose name `readmit` holds.
local function readmitSome(after)
  local first = after == '' and '-' or '(' .. after
  local ids = redis.call('ZRANGEBYLEX', eligible, first, '+', 'LIMIT', 0, READMIT_STEP)
  for _, id in ipairs(ids) do
    local score = tonumber(redis.call('ZSCORE', full, id) or nil)
    if score then
      local weight, capacity = weightAndCapacity(id)
      if inFlightAt(score, weight) < capacity then
        redis.call('ZREM', full, id)
        redis.call('ZADD', ready, score, id)
      end
    end
  end
  if #ids < READMIT_STEP then
    redis.call('HDEL', settings, 'readmit')
    return false
  end
  redis.call('HSET', settings, 'readmit', ids[#ids])
  return true
end

local more = settleExpired(SETTLE_STEP) == SETTLE_STEP
local after = redis.call('HGET', settings, 'readmit')
if after then more = readmitSome(after) or more end
local waitingBefore = redis.call('ZCARD', queue)
if waitingBefore > 0 then
  serve()
  sweep()
  writePool()
end
local waiting = redis.call('ZCARD', queue)
more = more or waitingBefore - waiting >= SERVE_MAX

local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
local next = tonumber(first[2])
if waiting > 0 then next = math.min(next or nowMs + WAITERS_MS, nowMs + WAITERS_MS) end
if more then next = nowMs end
if next then
  redis.call('HSET', settings, 'due', string.format('%.0f', next))
else
  redis.call('HDEL', settings, 'due')
end
return { more and 1 or 0, next or -1 }
