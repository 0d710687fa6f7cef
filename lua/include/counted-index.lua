--[[
  The index of strategies that compare assignment counts: how members enter it and leave it.
  A fragment is the body of a function that gets its keys and returns these operations; the pool's scripts call them.

  Key      counts  zset  member id -> score (see stride.lua)
  Needs    stride.lua
]]
local counts = ...

return {
  -- The lowest score among the members of the index, or nil when it is empty.
  lowest = function()
    local head = redis.call('ZRANGE', counts, 0, 0, 'WITHSCORES')
    return head[2] and tonumber(head[2])
  end,

  -- Where a member stands: its score, how often it was selected, and its live leases. Nil when it is not in the index.
  standing = function(id, record)
    local score = redis.call('ZSCORE', counts, id)
    if not score then return nil end
    score = tonumber(score)
    return score, countAt(score, record.weight) - record.offset, 0
  end,

  -- Puts a member at the first count that is not below `score`, and sets the record's offset; the caller writes the record.
  enter = function(id, record, score, assigned)
    local count = countAt(score, record.weight)
    record.offset = count - assigned
    redis.call('ZADD', counts, scoreOf(count, record.weight), id)
  end,

  leave = function(id)
    redis.call('ZREM', counts, id)
  end,

  -- Live leases of a member that is not in the index.
  inFlight = function()
    return 0
  end,

  -- The rank by which a member is picked, the lowest first; nil when it is not to be picked. As text, ranks are in the same order;
  -- `viewRank` is that of a member in the views.
  rankOf = function(id)
    return tonumber(redis.call('ZSCORE', counts, id) or nil)
  end,
  rankText = rankText,
  viewRank = function(id)
    local score = redis.call('ZSCORE', counts, id)
    return score and rankText(score)
  end,
  rankLength = 16,
}
