--[[
  Remove members, and keep where they stood for a later return, or forget it. Safe to repeat.

  ARGV[1]  strategy     the one the caller composed this script for
  ARGV[2]  token        of the import lock, or '' for none
  ARGV[3]  lockTtlMs
  ARGV[4]  forget       '1': keep no history
  ARGV[5]  historyMax   how many removed members are remembered, the latest
  ARGV[6..]             ids
  Returns  {'', removed}, or {'STALE' | 'MOVING' | 'LOCK_LOST'}
  Time     O(n log N) for n ids
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@index index
local strategy, token, lockTtlMs, forget = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local historyMax = tonumber(ARGV[5])

local refusal = outdated(strategy) or lockLost(token, lockTtlMs)
if refusal then return { refusal } end

local count = 0
for at = 6, #ARGV do
  local id = ARGV[at]
  local text = redis.call('HGET', members, id)
  if text then
    local record = readRecord(text)
    local score, assigned, _, reason, returnsAt = standingOf(index, id, record)
    if not forget then
      local known = redis.call('HGET', factsOf, id)
      redis.call('HSET', history, id, writeStanding(score, assigned, reason, returnsAt) .. (known and '\n' .. known or ''))
      redis.call('ZADD', removed, nowMs, id)
    end
    takeAway(index, id, record, reason)
    redis.call('HDEL', factsOf, id)
    redis.call('HDEL', members, id)
    count = count + 1
  end
  if forget and redis.call('HDEL', history, id) == 1 then
    redis.call('ZREM', removed, id)
    if not text then count = count + 1 end
  end
end

-- Each step removes at most as many old entries as it added new ones, so the history never exceeds its bound.
local excess = redis.call('ZCARD', removed) - historyMax
if excess > 0 then
  local popped = redis.call('ZPOPMIN', removed, excess)
  for at = 1, #popped, 2 do redis.call('HDEL', history, popped[at]) end
end
return { '', count }
