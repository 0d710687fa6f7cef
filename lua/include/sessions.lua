--[[
  Sessions: the same member for the same session, as long as it may be selected.

    sessions     hash  session -> member id
    sessionEnds  zset  session -> when it is forgotten, in ms

  Both are gone by themselves once no session was used for as long as one lasts.

  Needs  `sessions`, `sessionEnds`, `nowMs`
]]
-- The most sessions of a pool; of more, those that were used longest ago are forgotten.
local SESSIONS_MAX = 100000
local FORGET_IN_PASSING = 4

local function memberOfSession(session)
  local ends = redis.call('ZSCORE', sessionEnds, session)
  return ends and tonumber(ends) > nowMs and redis.call('HGET', sessions, session) or nil
end

local function forgetSessions(names)
  if #names == 0 then return end
  redis.call('ZREM', sessionEnds, unpack(names))
  redis.call('HDEL', sessions, unpack(names))
end

-- Notes that a session has used a member.
local function keepSession(session, id, ttlMs)
  redis.call('HSET', sessions, session, id)
  redis.call('ZADD', sessionEnds, nowMs + ttlMs, session)
  forgetSessions(redis.call('ZRANGEBYSCORE', sessionEnds, '-inf', nowMs, 'LIMIT', 0, FORGET_IN_PASSING))
  if redis.call('ZCARD', sessionEnds) > SESSIONS_MAX then forgetSessions(redis.call('ZRANGE', sessionEnds, 0, 0)) end
  redis.call('PEXPIRE', sessions, ttlMs)
  redis.call('PEXPIRE', sessionEnds, ttlMs)
end
