--[[
  Do what is due in a pool: settle leases that have expired, put members where a changed capacity wants them, hand out
  what is free, and say when to look again. One bounded step; safe to repeat.

  KEYS     see include/lease-keys.lua
  KEYS[14] eligible  zset  ids of the eligible members
  Returns  {more: 1 when there is more to do at once, next: when something is due, in ms, or -1 for nothing}
  Time     O(n log N), at most 100 leases and 200 members a step
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/lease-keys.lua
--@include include/lease-views.lua
--@include include/lend.lua
--@include include/settle.lua
--@include include/waiters.lua
local eligible = KEYS[14]
local SETTLE_STEP, RESEAT_STEP = 100, 200
local WAITERS_MS = 1000

if not pool.strategy then return { 0, -1 } end

-- Puts members where a changed capacity wants them, from the one after the last of the step before, which `reseat` holds.
local function reseatSome(after)
  local first = after == '' and '-' or '(' .. after
  local ids = redis.call('ZRANGEBYLEX', eligible, first, '+', 'LIMIT', 0, RESEAT_STEP)
  for _, id in ipairs(ids) do
    local from, to = full, ready
    local score = redis.call('ZSCORE', full, id)
    if not score then
      from, to = ready, full
      score = redis.call('ZSCORE', ready, id)
    end
    if score then
      local weight, capacity = limitsIn(redis.call('HGET', members, id), pool.capacity)
      local isFull = inFlightAt(tonumber(score), weight) >= capacity
      if isFull == (to == full) then
        redis.call('ZREM', from, id)
        redis.call('ZADD', to, score, id)
        shift(id, isFull and tonumber(score) or nil, not isFull and tonumber(score) or nil)
      end
    end
  end
  if #ids < RESEAT_STEP then
    redis.call('HDEL', settings, 'reseat')
    return false
  end
  redis.call('HSET', settings, 'reseat', ids[#ids])
  return true
end

local more = settleExpired(SETTLE_STEP) == SETTLE_STEP
local after = redis.call('HGET', settings, 'reseat')
if after then more = reseatSome(after) or more end
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
