--[[
  What a pick needs of the index of counts, see counted-index.lua.

  Needs  stride.lua
]]
local counts = ...

return {
  ranks = counts,
  rankText = rankText,
  rankLength = 16,
  isLevelled = true,

  -- Counts a selection of a member that has such a rank; says its new rank, and the count.
  take = function(id, weight, rank)
    local count = countAt(rank, weight) + 1
    local score = scoreOf(count, weight)
    redis.call('ZADD', counts, score, id)
    return score, count
  end,
}
