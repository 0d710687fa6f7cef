--[[
  The index of least-concurrency: how members enter it and leave it. Live leases of a member that is not eligible, or was
  removed, are counted in `away` until they end or the member returns.

  Keys     ready   zset  member below its capacity -> score (see load.lua)
           full    zset  member at its capacity -> score
           away    zset  member outside the index -> live leases
           counts  hash  member -> how often it was selected
  Needs    stride.lua, load.lua, and catalogue.lua
]]
local ready, full, away, counts = ...

local function scoreHere(id)
  local score = redis.call('ZSCORE', ready, id) or redis.call('ZSCORE', full, id)
  return score and tonumber(score)
end

return {
  -- A balance is not what this strategy compares.
  lowest = function() return nil end,

  -- The score is the one that a member with as many selections has where selections are compared.
  standing = function(id, record)
    local score = scoreHere(id)
    if not score then return nil end
    local assigned = tonumber(redis.call('HGET', counts, id)) or 0
    return scoreOf(assigned, record.weight), assigned, inFlightAt(score, record.weight)
  end,

  -- Also for one that is there already, under a new weight or capacity; `oldWeight` is the one it was there with.
  enter = function(id, record, _, assigned, oldWeight)
    local here = scoreHere(id)
    local inFlight = here and inFlightAt(here, oldWeight) or tonumber(redis.call('ZSCORE', away, id) or 0)
    local pool = redis.call('HMGET', settings, 'capacity', 'sequence')
    local tie = tieAt(tonumber(pool[2]) or 0, record.weight)
    if here then tie = tieOf(here) - math.fmod(here, 2) + (record.weight == 1 and 0 or 1) end
    local isFull = inFlight >= (record.isOnTrial and 1 or capacityOf(record.capacity, pool[1]))
    redis.call('ZADD', isFull and full or ready, loadScore(inFlight, record.weight, tie), id)
    redis.call('ZREM', isFull and ready or full, id)
    redis.call('ZREM', away, id)
    keepCount(counts, id, assigned)
    record.offset = 0
  end,

  leave = function(id, weight)
    local here = scoreHere(id)
    if not here then return end
    local inFlight = inFlightAt(here, weight)
    if inFlight > 0 then redis.call('ZADD', away, inFlight, id) end
    redis.call('ZREM', ready, id)
    redis.call('ZREM', full, id)
    dropCount(counts, id)
  end,

  -- Live leases of a member that is outside the index.
  inFlight = function(id)
    return tonumber(redis.call('ZSCORE', away, id) or 0)
  end,

  -- Of a member below its capacity.
  rankOf = function(id)
    return tonumber(redis.call('ZSCORE', ready, id) or nil)
  end,
  rankText = rankText,
  viewRank = function(id)
    local score = redis.call('ZSCORE', ready, id)
    if score then return rankText(score) end
    return redis.call('ZSCORE', full, id) and string.rep(FULL, 16)
  end,
  rankLength = 16,
}
