--[[
  The keys that every script about leases takes, in this order, and the one way in which a lease begins and ends.

  KEYS[1]   settings  hash    the pool's settings, and what its scripts count: fence, sequence, due
  KEYS[2]   members   hash    member id -> record (see member-record.lua)
  KEYS[3]   assigned  string  how many selections the pool has made
  KEYS[4]   leases    zset    lease -> when it expires, in ms
  KEYS[5]   ended     hash    the first 22 characters of an ended lease, or ? and a requestId -> how it ended
  KEYS[6]   endedOld  hash    the same, of a while ago
  KEYS[7]   notes     hash    what only some leases have, and waiters; by the first character of the field:
                              m lease token -> requestId, line feed, owner          r requestId -> body hash, lease or ~waiter
                              w waiter -> see waiters.lua     g waiter -> its lease
                              A waiter's name is the token of the lease that it will get.
  KEYS[8]   queue     zset    waiter -> ticket
  KEYS[9]   ready     zset    see leased-index.lua, also for the rest
  KEYS[10]  full      zset
  KEYS[11]  away      zset
  KEYS[12]  counts    hash
  KEYS[13]  seen      zset    process that waits -> when it was last seen, in ms

  A lease is named <22 characters of a random token><. or, where it has notes, ~><fence in hex>.<member id>
  Ways to end: c completed, a abandoned, e expired, f by force

  Needs  stride.lua, load.lua
]]
local settings, members, assigned, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ended, endedOld, notes, queue = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local ready, full, away, counts = KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local seen = KEYS[13]

local TOKEN = 22
-- Two generations of ended leases: each is added to for a minute, and kept for at least one more.
local GENERATION_MS, ENDED_MS, GENERATION_MAX = 60000, 65000, 50000
-- How many expired leases a script settles in passing.
local SETTLE_IN_PASSING = 16
-- How many members over their capacity a script takes out of the way of one pick.
local PARK_MAX = 64

local time = redis.call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local nowMs = math.floor(nowUs / 1000)

-- The pool's settings and counters, read once where a script needs them.
local pool
local function readPool()
  if pool then return pool end
  local found = redis.call('HMGET', settings,
    'strategy', 'capacity', 'limit', 'leaseTtlMs', 'leaseMaxTtlMs', 'fence', 'sequence', 'due')
  pool = {
    strategy = found[1], capacity = found[2], limit = tonumber(found[3]),
    ttlMs = tonumber(found[4]), maxTtlMs = tonumber(found[5]),
    fence = tonumber(found[6]) or 0, sequence = tonumber(found[7]) or 0, due = tonumber(found[8]), lent = 0,
  }
  return pool
end

local function memberOf(lease)
  return string.sub(lease, string.find(lease, '.', TOKEN + 2, true) + 1)
end

local function hasNote(lease)
  return string.byte(lease, TOKEN + 1) == 126
end

-- The number that grows with every lease and every ticket, also over a restart that lost the last ones.
local function nextFence()
  local p = readPool()
  p.fence = math.max(p.fence + 1, nowUs)
  p.dirty = true
  return p.fence
end

local function writePool()
  if not pool or not pool.dirty then return end
  redis.call('HSET', settings, 'fence', string.format('%.0f', pool.fence), 'sequence', string.format('%.0f', pool.sequence))
  if pool.lent > 0 then redis.call('INCRBY', assigned, pool.lent) end
end

local function weightAndCapacity(id)
  local weight, capacity = string.match(redis.call('HGET', members, id), '^(%d+) (%S+)')
  weight = tonumber(weight)
  return weight, capacityOf(capacity, readPool().capacity, weight)
end

-- One live lease less for its member, wherever that is.
local function lower(id)
  local score = tonumber(redis.call('ZSCORE', ready, id) or nil)
  if score and math.fmod(score, 2) == 0 then
    redis.call('ZADD', ready, score - STRIDE * LEVEL, id)
    return
  end
  local isFull = not score
  if isFull then score = tonumber(redis.call('ZSCORE', full, id) or nil) end
  if not score then
    if tonumber(redis.call('ZINCRBY', away, -1, id)) < 1 then redis.call('ZREM', away, id) end
    return
  end
  local weight, capacity = weightAndCapacity(id)
  local inFlight = inFlightAt(score, weight) - 1
  local isFullStill = isFull and inFlight >= capacity
  redis.call('ZADD', isFullStill and full or ready, loadScore(inFlight, weight, tieOf(score)), id)
  if isFull and not isFullStill then redis.call('ZREM', full, id) end
end

local checked = false
local function remember(field, how, many)
  if not checked then
    local leftMs = redis.call('PTTL', ended)
    local isOld = leftMs >= 0 and leftMs < ENDED_MS
    if isOld or (many and redis.call('HLEN', ended) >= GENERATION_MAX) then
      redis.call('UNLINK', endedOld)
      redis.call('RENAME', ended, endedOld)
      redis.call('PEXPIRE', endedOld, ENDED_MS)
      leftMs = -2
    end
    redis.call('HSET', ended, field, how)
    if leftMs == -2 then redis.call('PEXPIRE', ended, GENERATION_MS + ENDED_MS) end
    checked = true
    return
  end
  redis.call('HSET', ended, field, how)
end

-- How an ended lease, or the one of a requestId, ended; nil when it is not known.
local function recall(field)
  return redis.call('HGET', ended, field) or redis.call('HGET', endedOld, field) or nil
end

-- Ends a live lease. Whatever ends one comes through here, and ZREM lets only the first one pass.
local function settle(lease, how, many)
  if redis.call('ZREM', leases, lease) == 0 then return false end
  lower(memberOf(lease))
  local token = string.sub(lease, 1, TOKEN)
  -- Looked at now and then; a fence is as good as chance.
  remember(token, how, many or math.fmod(string.byte(lease, 1) * 256 + string.byte(lease, 2), 64) == 0)
  if hasNote(lease) then
    local found = redis.call('HMGET', notes, 'm' .. token, 'g' .. token)
    local requestId = string.match(found[1] or '', '^([^\n]*)')
    redis.call('HDEL', notes, 'm' .. token, 'g' .. token, 'w' .. token)
    if requestId ~= '' then
      redis.call('HDEL', notes, 'r' .. requestId)
      -- A hand-over that was never confirmed was nobody's lease.
      if not found[2] then remember('?' .. requestId, how, many) end
    end
  end
  return true
end

-- Settles leases that have expired, the longest ago first; says how many.
local function settleExpired(most)
  local expired = redis.call('ZRANGEBYSCORE', leases, '-inf', nowMs, 'LIMIT', 0, most)
  for _, lease in ipairs(expired) do settle(lease, 'e', most > SETTLE_IN_PASSING) end
  return #expired
end

local function isAtLimit()
  local limit = readPool().limit
  return limit and redis.call('ZCARD', leases) >= limit
end

-- The first of the members that are ready; among equal loads after the first lap of ties the first of the older lap.
local function headOfReady()
  local head = redis.call('ZRANGE', ready, 0, 0, 'WITHSCORES')
  if not head[1] or readPool().sequence < LAP then return head[1], tonumber(head[2]) end
  local base = math.floor(tonumber(head[2]) / LEVEL) * LEVEL
  local from = string.format('(%.0f', base + tieAt(readPool().sequence, 2))
  local older = redis.call('ZRANGEBYSCORE', ready, from, string.format('(%.0f', base + LEVEL), 'WITHSCORES', 'LIMIT', 0, 1)
  if older[1] then return older[1], tonumber(older[2]) end
  return head[1], tonumber(head[2])
end

-- The member with the least load that is below its capacity, or nil; members that are not are taken out of the way.
local function pickMember()
  for _ = 1, PARK_MAX do
    local id, score = headOfReady()
    if not id then return nil end
    local record = redis.call('HGET', members, id)
    local weight, own = string.match(record, '^(%d+) (%S+)')
    weight = tonumber(weight)
    local inFlight, capacity = inFlightAt(score, weight), capacityOf(own, readPool().capacity, weight)
    if inFlight < capacity then
      return { id = id, record = record, weight = weight, inFlight = inFlight, capacity = capacity }
    end
    redis.call('ZREM', ready, id)
    redis.call('ZADD', full, score, id)
  end
  return nil
end

-- Makes a lease of a member that was picked. A note is "requestId, line feed, owner", or nil.
local function lend(member, token, ttlMs, note)
  local p = readPool()
  local fence = nextFence()
  p.sequence = p.sequence + 1
  p.lent = p.lent + 1
  local inFlight = member.inFlight + 1
  local score = loadScore(inFlight, member.weight, tieAt(p.sequence, member.weight))
  if inFlight < member.capacity then
    redis.call('ZADD', ready, score, member.id)
  else
    redis.call('ZREM', ready, member.id)
    redis.call('ZADD', full, score, member.id)
  end
  local lease = token .. (note and '~' or '.') .. string.format('%x', fence) .. '.' .. member.id
  redis.call('ZADD', leases, nowMs + ttlMs, lease)
  if note then redis.call('HSET', notes, 'm' .. token, note) end
  return lease, redis.call('HINCRBY', counts, member.id, 1)
end
