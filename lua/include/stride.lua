--[[
  Weights by stride scheduling (Waldspurger and Weihl, "Stride Scheduling", 1995), in whole numbers: a member's
  score is floor(count * STRIDE / weight), computed from the whole count each time, so that nothing drifts.
  After a round in which every member of weight 1 was picked once, one of weight w was picked w times, exactly.

  STRIDE is at least the greatest weight, so that a score gives back its count. Splitting off the remainder keeps
  every step below 2^53, which a double holds exactly: 9 * 10^13 picks of one member.
]]
local STRIDE = 100

local function scoreOf(count, weight)
  local rest = math.fmod(count, weight)
  return (count - rest) / weight * STRIDE + math.floor(rest * STRIDE / weight)
end

-- A score in the order of texts.
local function rankText(score)
  return string.format('%016.0f', score)
end

-- The smallest count whose score is not below the given one; for a member's own score, its count.
local function countAt(score, weight)
  local rest = math.fmod(score, STRIDE)
  return (score - rest) / STRIDE * weight + math.ceil(rest * weight / STRIDE)
end
