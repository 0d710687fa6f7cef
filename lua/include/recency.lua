--[[
  The ranks of least-recently-used: the number of the selection, among all of the pool, that fell on the member last.
]]
local RANK_LENGTH = 16
local function rankText(rank)
  return string.format('%016.0f', rank)
end

-- Who enters stands before all that were selected; it gets one selection by that, and no more. Who is there stays.
local function entryRank(ranks, id)
  return redis.call('ZSCORE', ranks, id) or 0
end

local function rankAfter(_, _, sequence)
  return sequence
end
