--[[
  The keys of a pool's catalogue, which its scripts take in this order, the server's clock, and what moves a member between states.
  The keys of the strategy's index follow from KEYS[14] on.

  KEYS[1]   settings   hash  the pool's settings
  KEYS[2]   members    hash  member id -> record (see member-record.lua)
  KEYS[3]   eligible   zset  ids of the eligible members, all scores 0: in the order of their bytes
  KEYS[4]   withdrawn  zset  ids of the others, likewise
  KEYS[5]   parked     hash  id of a withdrawn member -> its standing
  KEYS[6]   history    hash  id of a removed member -> its standing, and its facts, where it has any, from the next line on
  KEYS[7]   removed    zset  id of a removed member -> when, in ms
  KEYS[8]   lock       string  token of the import under way
  KEYS[9]   facts      hash  member id -> what bears on its state (see facts.lua), where anything does
  KEYS[10]  reasons    hash  reason -> how many members are withdrawn for it
  KEYS[11]  returns    zset  id of a cooling member -> when its cooldown ends, in ms
  KEYS[12]  probes     zset  id of a candidate or unhealthy member -> when it is to be probed, in ms
  KEYS[13]  views      zset  see views.lua

  A standing is "<score> <assigned> <reason, or - while eligible> <returnsAt in ms, or ->".
]]
--@include include/views.lua
--@include include/descents.lua
local settings, members, eligible, withdrawn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local parked, history, removed, lock = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local factsOf, reasons, returns, probes, views = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local function writeStanding(score, assigned, reason, returnsAt)
  return string.format('%.0f %.0f %s %s', score, assigned, reason, returnsAt)
end

local function readStanding(text)
  local score, assigned, reason, returnsAt = string.match(text, '^(%S+) (%S+) (%S+) (%S+)')
  return tonumber(score), tonumber(assigned), reason, returnsAt
end

-- Redis searches a hash of up to 512 short fields from the front. One longer field, under a name that no member has, makes
-- it find every field by its hash.
local HASHED = string.rep('-', 65)

local function keepRecord(id, record)
  redis.call('HSET', members, '', HASHED, id, writeRecord(record))
end

-- How often members were selected, where an index has a hash of its own for it; empty, it is gone.
local function keepCount(counts, id, assigned)
  redis.call('HSET', counts, '', HASHED, id, assigned)
end

local function dropCount(counts, id)
  redis.call('HDEL', counts, id)
  if redis.call('HLEN', counts) == 1 then redis.call('DEL', counts) end
end

-- Why the caller must look again before it goes on: its copy of the pool's settings is old, or a change of strategy
-- is half done. Nil when all is well. `rules` are those that it judged members by, nil where it judged none.
local function outdated(strategy, rules)
  local found = redis.call('HMGET', settings, 'strategy', 'leaving', 'rules')
  if found[1] ~= strategy then return 'STALE' end
  if found[2] then return 'MOVING' end
  if rules and rules ~= (found[3] or '') then return 'STALE' end
  return nil
end

-- Keeps the caller's import lock alive, or says that another import has taken it. An empty token needs no lock.
local function lockLost(token, ttlMs)
  if token == '' then return nil end
  if redis.call('GET', lock) ~= token then return 'LOCK_LOST' end
  redis.call('PEXPIRE', lock, ttlMs)
  return nil
end

-- Notes where a member that was put into the index stands, see descents.lua.
local function noteEntry(index, id)
  local descents = redis.call('HGET', settings, 'descents')
  local rank = descents and index.rankOf(id)
  if rank then redis.call('HSET', settings, 'descents', withDescent(descents, rank)) end
end

-- Counts the members that are withdrawn for a reason.
local function recount(reason, change)
  if reason == '-' then return end
  if redis.call('HINCRBY', reasons, reason, change) == 0 then redis.call('HDEL', reasons, reason) end
end

-- What a member was before it came into the pool.
local NOT_HERE = { weight = nil, views = '', reason = nil }

-- What is to happen to a member by itself: the end of its cooldown, or a probe, which keeps the time that it was given.
local function schedule(id, reason, returnsAt)
  if reason == 'cooling' then redis.call('ZADD', returns, returnsAt, id) else redis.call('ZREM', returns, id) end
  if reason == 'candidate' or reason == 'unhealthy' then
    redis.call('ZADD', probes, 'NX', nowMs, id)
  else
    redis.call('ZREM', probes, id)
  end
end

-- Makes a member eligible, or withdraws it; `reason` is '-' for eligible. The caller writes the record afterwards.
-- `was` is what it was before: its weight and views in the index, and its reason, nil for one that was not in the pool.
local function place(index, id, record, score, assigned, reason, returnsAt, was)
  local rankBefore = was.views ~= '' and index.viewRank(id) or nil
  if reason == '-' then
    index.enter(id, record, score, assigned, was.weight)
  else
    index.leave(id, was.weight)
  end
  moveInViews(views, id, was.views, rankBefore, record.views, record.views ~= '' and index.viewRank(id))
  noteEntry(index, id)
  if reason == '-' and was.reason == '-' then return end

  if reason == '-' then
    redis.call('ZADD', eligible, 0, id)
    redis.call('ZREM', withdrawn, id)
    redis.call('HDEL', parked, id)
  else
    redis.call('ZREM', eligible, id)
    redis.call('ZADD', withdrawn, 0, id)
    redis.call('HSET', parked, id, writeStanding(score, assigned, reason, returnsAt))
  end
  recount(was.reason or '-', -1)
  recount(reason, 1)
  schedule(id, reason, returnsAt)
end

-- Takes a member out of its state, whatever that was; the caller takes it out of the pool.
local function takeAway(index, id, record, reason)
  local rank = record.views ~= '' and index.viewRank(id)
  index.leave(id, record.weight)
  moveInViews(views, id, record.views, rank, '', nil)
  redis.call('ZREM', eligible, id)
  redis.call('ZREM', withdrawn, id)
  redis.call('HDEL', parked, id)
  recount(reason, -1)
  schedule(id, '-', '-')
end

-- Where a member stands, eligible or not: score, assigned, in-flight, reason, returnsAt.
local function standingOf(index, id, record)
  local text = redis.call('HGET', parked, id)
  if text then
    local score, assigned, reason, returnsAt = readStanding(text)
    return score, assigned, index.inFlight(id), reason, returnsAt
  end
  local score, assigned, inFlight = index.standing(id, record)
  return score, assigned, inFlight, '-', '-'
end
