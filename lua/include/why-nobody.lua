--[[
  Why nobody is to be had, and in how many ms that may change, -1 where nothing is known to come: the earliest end of a cooldown,
  or of a ban for the target. Nil where the index should have had somebody: the caller's copy of the pool is old.

  Needs  catalogue.lua, `bans`
]]
local function firstAfter(key, atMs)
  local first = redis.call('ZRANGEBYSCORE', key, string.format('(%.0f', atMs), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return tonumber(first[2])
end

local function whyNobody(request, isNarrow)
  local nextMs = firstAfter(returns, 0)
  local reason = 'NO_MATCH'
  if redis.call('EXISTS', eligible) == 0 then
    reason = redis.call('EXISTS', withdrawn) == 1 and 'NONE_ELIGIBLE' or 'EMPTY_POOL'
  elseif not isNarrow then
    return nil
  elseif request.hasTarget then
    local banEndsMs = firstAfter(bans, nowMs)
    nextMs = banEndsMs and math.min(banEndsMs, nextMs or banEndsMs) or nextMs
  end
  return reason, nextMs and math.max(0, nextMs - nowMs) or -1
end
