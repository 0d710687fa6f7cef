--[[
  How a lease begins.

  Needs  stride.lua, load.lua, lease-keys.lua, lease-views.lua
]]
-- How many members over their capacity a script takes out of the way of one pick.
local PARK_MAX = 64

-- The number that grows with every lease and every ticket, also over a restart that lost the last ones.
local function nextFence()
  pool.fence = math.max(pool.fence + 1, nowUs)
  pool.dirty = true
  return pool.fence
end

local function writePool()
  if not pool.dirty then return end
  redis.call('HSET', settings, 'fence', pool.fence, 'sequence', pool.sequence)
  pool.dirty = false
end

local function isAtLimit()
  return pool.limit and redis.call('ZCARD', leases) >= pool.limit
end

-- The first of the members that are ready; among equal loads after the first lap of ties the first of the older lap.
local function headOfReady()
  local head = redis.call('ZRANGE', ready, 0, 0, 'WITHSCORES')
  if not head[1] or pool.sequence < LAP then return head[1], tonumber(head[2]) end
  local base = math.floor(tonumber(head[2]) / LEVEL) * LEVEL
  local from = string.format('(%.0f', base + tieAt(pool.sequence, 2))
  local older = redis.call('ZRANGEBYSCORE', ready, from, string.format('(%.0f', base + LEVEL), 'WITHSCORES', 'LIMIT', 0, 1)
  if older[1] then return older[1], tonumber(older[2]) end
  return head[1], tonumber(head[2])
end

local function firstInView(from, to)
  local entry = redis.call('ZRANGEBYLEX', views, from, to, 'LIMIT', 0, 1)[1]
  if not entry then return nil end
  return string.sub(entry, VIEW + 17), tonumber(string.sub(entry, VIEW + 1, VIEW + 16))
end

-- The same in a view.
local function headOfView(view)
  local id, score = firstInView('[' .. view, '(' .. view .. FULL)
  if not id or pool.sequence < LAP then return id, score end
  local base = math.floor(score / LEVEL) * LEVEL
  local older, olderScore = firstInView('(' .. view .. rankText(base + tieAt(pool.sequence, 2)) .. FULL, '(' .. view .. rankText(base + LEVEL))
  if older then return older, olderScore end
  return id, score
end

-- A member that is ready, as lend takes it; nil where it has no room, and is taken out of the way.
local function memberWithRoom(id, score)
  local record = redis.call('HGET', members, id)
  local weight, capacity = limitsIn(record, pool.capacity)
  local inFlight = inFlightAt(score, weight)
  if inFlight < capacity then
    return { id = id, record = record, weight = weight, score = score, inFlight = inFlight, capacity = capacity }
  end
  redis.call('ZREM', ready, id)
  redis.call('ZADD', full, score, id)
  shift(id, score, nil)
  return nil
end

-- The member with the least load that is below its capacity, of a view where one is given; or nil.
local function pickMember(view)
  for _ = 1, PARK_MAX do
    local id, score
    if view == '' then id, score = headOfReady() else id, score = headOfView(view) end
    if not id then return nil end
    local member = memberWithRoom(id, score)
    if member then return member end
  end
  return nil
end

-- Makes a lease of a member that was picked. A note is "requestId, line feed, owner", or nil.
local function lend(member, token, ttlMs, note)
  local fence = nextFence()
  pool.sequence = pool.sequence + 1
  local inFlight = member.inFlight + 1
  local score = loadScore(inFlight, member.weight, tieAt(pool.sequence, member.weight))
  if inFlight < member.capacity then
    redis.call('ZADD', ready, score, member.id)
  else
    redis.call('ZREM', ready, member.id)
    redis.call('ZADD', full, score, member.id)
  end
  shift(member.id, member.score, inFlight < member.capacity and score or nil)
  local lease = token .. (note and '~' or '.') .. string.format('%x', fence) .. '.' .. member.id
  redis.call('ZADD', leases, nowMs + ttlMs, lease)
  if note then redis.call('HSET', notes, 'm' .. token, note) end
  return lease, redis.call('HINCRBY', counts, member.id, 1)
end
