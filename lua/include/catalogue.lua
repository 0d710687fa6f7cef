--[[
  The keys of a pool's catalogue, which its scripts take in this order, and what moves a member between states.
  The keys of the strategy's index follow from KEYS[9] on.

  KEYS[1]  settings   hash  the pool's settings
  KEYS[2]  members    hash  member id -> record (see member-record.lua)
  KEYS[3]  eligible   zset  ids of the eligible members, all scores 0: in the order of their bytes
  KEYS[4]  withdrawn  zset  ids of the others, likewise
  KEYS[5]  parked     hash  id of a withdrawn member -> its standing
  KEYS[6]  history    hash  id of a removed member -> its standing
  KEYS[7]  removed    zset  id of a removed member -> when, in ms
  KEYS[8]  lock       string  token of the import under way

  A standing is "<score> <assigned> <reason, or - while eligible> <returnsAt in ms, or ->".
]]
local settings, members, eligible, withdrawn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local parked, history, removed, lock = KEYS[5], KEYS[6], KEYS[7], KEYS[8]

local function writeStanding(score, assigned, reason, returnsAt)
  return string.format('%.0f %.0f %s %s', score, assigned, reason, returnsAt)
end

local function readStanding(text)
  local score, assigned, reason, returnsAt = string.match(text, '^(%S+) (%S+) (%S+) (%S+)$')
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
-- is half done. Nil when all is well.
local function outdated(strategy)
  local found = redis.call('HMGET', settings, 'strategy', 'leaving')
  if found[1] ~= strategy then return 'STALE' end
  if found[2] then return 'MOVING' end
  return nil
end

-- Keeps the caller's import lock alive, or says that another import has taken it. An empty token needs no lock.
local function lockLost(token, ttlMs)
  if token == '' then return nil end
  if redis.call('GET', lock) ~= token then return 'LOCK_LOST' end
  redis.call('PEXPIRE', lock, ttlMs)
  return nil
end

-- Makes a member eligible, or withdraws it; `reason` is '-' for eligible. The caller writes the record afterwards.
-- `oldWeight` is the one that the member is in the index with, where the record has another by now.
local function place(index, id, record, score, assigned, reason, returnsAt, oldWeight)
  if reason == '-' then
    index.enter(id, record, score, assigned, oldWeight or record.weight)
    redis.call('ZADD', eligible, 0, id)
    redis.call('ZREM', withdrawn, id)
    redis.call('HDEL', parked, id)
  else
    index.leave(id, oldWeight or record.weight)
    redis.call('ZREM', eligible, id)
    redis.call('ZADD', withdrawn, 0, id)
    redis.call('HSET', parked, id, writeStanding(score, assigned, reason, returnsAt))
  end
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
