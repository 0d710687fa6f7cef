--[[
  The ranks of random: each member arrives again and again, after times that are distributed exponentially with its weight as
  the rate, and its rank is the time of its next arrival. Who arrives first is then any member with a chance in
  proportion to its weight, whatever happened before (superposition of Poisson processes; Kingman, "Poisson Processes", 1993).

  Redis begins its own random numbers anew with every script, so that they come from a hash of what never comes twice.
]]
local RANK_LENGTH = 26
local function rankText(rank)
  return string.format('%026.12f', rank)
end

local function arrivalAfter(rank, weight, seed)
  local chance = (tonumber(string.sub(redis.sha1hex(seed), 1, 13), 16) + 1) / 2 ^ 52
  return rank - math.log(chance) / weight
end

-- Arrivals have no memory: who enters begins with the present.
local function entryRank(ranks, id, weight)
  local time = redis.call('TIME')
  local head = redis.call('ZRANGE', ranks, 0, 0, 'WITHSCORES')
  return arrivalAfter(tonumber(head[2]) or 0, weight, id .. '\n' .. time[1] .. ' ' .. time[2])
end

local function rankAfter(rank, weight, sequence, id)
  return arrivalAfter(rank, weight, sequence .. '\n' .. id)
end
