--[[
  The one way in which a lease ends, whatever ends it.

  Needs  stride.lua, load.lua, lease-keys.lua, lease-views.lua
]]
-- Two generations of ended leases: each is added to for a minute, and kept for at least one more.
local GENERATION_MS, ENDED_MS, GENERATION_MAX = 60000, 65000, 50000

local function memberOf(lease)
  return string.sub(lease, string.find(lease, '.', TOKEN + 2, true) + 1)
end

-- One live lease less for its member, wherever that is. Nearly always that is one that is ready and of weight 1.
local function lower(id)
  local score = tonumber(redis.call('ZADD', ready, 'XX', 'INCR', -STRIDE * LEVEL, id) or nil)
  if score and math.fmod(score, 2) == 0 then
    shift(id, score + STRIDE * LEVEL, score)
    return
  end
  local isFull = not score
  score = isFull and tonumber(redis.call('ZSCORE', full, id) or nil) or score and score + STRIDE * LEVEL
  if not score then
    if tonumber(redis.call('ZINCRBY', away, -1, id)) < 1 then redis.call('ZREM', away, id) end
    return
  end
  local weight, capacity = limitsIn(redis.call('HGET', members, id), pool.capacity)
  local inFlight = inFlightAt(score, weight) - 1
  local isFullStill = isFull and inFlight >= capacity
  local tie = tieOf(score)
  tie = tie - math.fmod(tie, 2) + (weight == 1 and 0 or 1)
  local lowered = loadScore(inFlight, weight, tie)
  redis.call('ZADD', isFullStill and full or ready, lowered, id)
  if isFull and not isFullStill then redis.call('ZREM', full, id) end
  shift(id, not isFull and score or nil, not isFullStill and lowered or nil)
end

-- Begins a new generation of ended leases where the one that there is has grown old, or, looked at now and then, large.
local function turnOver(isLookedAt)
  local isOld = not pool.endedSince or math.abs(nowMs - pool.endedSince) > GENERATION_MS
  if not isOld and not (isLookedAt and redis.call('SCARD', ended) >= GENERATION_MAX) then return end
  if redis.call('EXISTS', ended) == 1 then
    redis.call('UNLINK', endedOld)
    redis.call('RENAME', ended, endedOld)
    redis.call('PEXPIRE', endedOld, ENDED_MS)
  end
  pool.endedSince = nowMs
  redis.call('HSET', settings, 'endedSince', nowMs)
  redis.call('SADD', ended, '')
  redis.call('PEXPIRE', ended, GENERATION_MS + ENDED_MS)
end

local ENDINGS = 'caef'

-- How an ended lease, or the one of a requestId, ended; nil when it is not known.
local function recall(field)
  local asked = {}
  for n = 1, #ENDINGS do asked[n] = field .. string.sub(ENDINGS, n, n) end
  for _, generation in ipairs({ ended, endedOld }) do
    for n, isHere in ipairs(redis.call('SMISMEMBER', generation, unpack(asked))) do
      if isHere == 1 then return string.sub(ENDINGS, n, n) end
    end
  end
  return nil
end

-- Forgets what was noted of a lease; its requestId is remembered with it.
local function forgetNotes(token, how)
  local noted = redis.call('HMGET', notes, 'm' .. token, 'g' .. token)
  local requestId = string.match(noted[1] or '', '^([^\n]*)')
  redis.call('HDEL', notes, 'm' .. token, 'g' .. token, 'w' .. token)
  if requestId == '' then return end
  redis.call('HDEL', notes, 'r' .. requestId)
  -- A hand-over that was never confirmed was nobody's lease.
  if not noted[2] then redis.call('SADD', ended, '?' .. requestId .. how) end
end

-- Ends a live lease. Whatever ends one comes through here, and ZREM lets only the first one pass.
local function settle(lease, how)
  if redis.call('ZREM', leases, lease) == 0 then return false end
  lower(memberOf(lease))
  local token = string.sub(lease, 1, TOKEN)
  turnOver(math.fmod(string.byte(lease, 1), 64) == 0)
  redis.call('SADD', ended, token .. how)
  if string.byte(lease, TOKEN + 1) == 126 then forgetNotes(token, how) end
  return true
end

-- Ends several live leases at once, each as settle would, `hows` being a letter for each; says for each whether it did.
-- Those without notes, of members that are ready, of weight 1 and in no view, go together in few calls.
local function settleMany(names, hows)
  local sub, find, byte = string.sub, string.find, string.byte
  local live = redis.call('ZMSCORE', leases, unpack(names))
  local ids, hasEnded = {}, {}
  for n, lease in ipairs(names) do
    if live[n] and not pool.hasViews and byte(lease, TOKEN + 1) ~= 126 then
      ids[n] = sub(lease, find(lease, '.', TOKEN + 2, true) + 1)
    else
      ids[n], hasEnded[n] = '', live[n] and settle(lease, sub(hows, n, n)) or false
    end
  end
  local scores = redis.call('ZMSCORE', ready, unpack(ids))

  local isGone, gone, told, lowered = {}, {}, {}, {}
  for n, lease in ipairs(names) do
    local id = ids[n]
    local score = lowered[id] or tonumber(scores[n] or nil)
    if id == '' or isGone[lease] then
      hasEnded[n] = hasEnded[n] or false
    elseif score and score % 2 == 0 then
      lowered[id] = score - STRIDE * LEVEL
      isGone[lease] = true
      hasEnded[n] = true
      local at = #gone + 1
      gone[at], told[at] = lease, sub(lease, 1, TOKEN) .. sub(hows, n, n)
    else
      hasEnded[n] = settle(lease, sub(hows, n, n))
    end
  end
  if #gone == 0 then return hasEnded end

  local changes, at, lowest = {}, 0, nil
  for id, score in pairs(lowered) do
    changes[at + 1], changes[at + 2] = string.format('%d', score), id
    at = at + 2
    lowest = math.min(lowest or score, score)
  end
  noteReady(lowest)
  turnOver(true)
  redis.call('ZREM', leases, unpack(gone))
  redis.call('ZADD', ready, unpack(changes))
  redis.call('SADD', ended, unpack(told))
  return hasEnded
end

-- Settles leases that have expired, the longest ago first; says how many.
local function settleExpired(most)
  local expired = redis.call('ZRANGEBYSCORE', leases, '-inf', nowMs, 'LIMIT', 0, most)
  if #expired > 0 then settleMany(expired, string.rep('e', #expired)) end
  return #expired
end
