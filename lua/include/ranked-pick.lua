--[[
  What a pick needs of an index of ranks, see ranked-index.lua.

  Needs  `rankAfter`, `rankText` and RANK_LENGTH of its kind
]]
local ranks, counts = ...

return {
  ranks = ranks,
  rankText = rankText,
  rankLength = RANK_LENGTH,

  take = function(id, weight, rank, sequence)
    local nextRank = rankAfter(rank, weight, sequence, id)
    redis.call('ZADD', ranks, nextRank, id)
    return nextRank, redis.call('HINCRBY', counts, id, 1)
  end,
}
