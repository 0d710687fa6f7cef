--[[
  The index of strategies that give each member a rank, the lowest being next: how members enter it and leave it.

  Keys     ranks   zset  member id -> rank
           counts  hash  member id -> how often it was selected
  Needs    stride.lua, catalogue.lua, and `entryRank(ranks, id, weight)`, the rank of a member that enters,
           rankText, RANK_LENGTH of ranks as text
]]
local ranks, counts = ...

return {
  -- A balance is not what these strategies compare.
  lowest = function() return nil end,

  -- The score is the one that a member with as many selections has where selections are compared.
  standing = function(id, record)
    if not redis.call('ZSCORE', ranks, id) then return nil end
    local assigned = tonumber(redis.call('HGET', counts, id)) or 0
    return scoreOf(assigned, record.weight), assigned, 0
  end,

  enter = function(id, record, _, assigned)
    redis.call('ZADD', ranks, entryRank(ranks, id, record.weight), id)
    keepCount(counts, id, assigned)
    record.offset = 0
  end,

  leave = function(id)
    redis.call('ZREM', ranks, id)
    dropCount(counts, id)
  end,

  -- Live leases of a member that is not in the index.
  inFlight = function() return 0 end,

  rankOf = function(id)
    return tonumber(redis.call('ZSCORE', ranks, id) or nil)
  end,
  rankText = rankText,
  viewRank = function(id)
    local rank = redis.call('ZSCORE', ranks, id)
    return rank and rankText(rank)
  end,
  rankLength = RANK_LENGTH,
}
