--[[
  What least-concurrency orders by: the load of a member, and among equal loads who was picked longest ago.

    score = level * 2^33 + tie      level  floor(live leases * STRIDE / weight), see stride.lua
                                    tie    (sequence mod 2^32) * 2, plus 1 where the weight is not 1

  `sequence` counts the picks of the pool; a member keeps the one of its last pick. After 2^32 picks the ties begin anew,
  and their order is circular: those above the current one are the older ones. The level has 20 bits, 10,000 live leases
  at weight 1 and some to spare; all of it fits the 53 bits that a double holds exactly.

  Needs  stride.lua
]]
local LEVEL = 2 ^ 33
local LAP = 2 ^ 32
-- The most live leases of a member that has no capacity; at weight 1 their level still fits.
local LEASES_MAX = 10000

local function tieAt(sequence, weight)
  return math.fmod(sequence, LAP) * 2 + (weight == 1 and 0 or 1)
end

local function loadScore(inFlight, weight, tie)
  return scoreOf(inFlight, weight) * LEVEL + tie
end

local function tieOf(score)
  return math.fmod(score, LEVEL)
end

local function inFlightAt(score, weight)
  return countAt(math.floor(score / LEVEL), weight)
end

-- The most live leases of a member: its own capacity, or else the pool's, or else what the score can hold.
local function capacityOf(own, poolCapacity)
  return tonumber(own) or tonumber(poolCapacity) or LEASES_MAX
end

-- The weight of a member and the most live leases that it may have; on trial that is one.
local function limitsIn(record, poolCapacity)
  local weight, own, trial = string.match(record, '^(%d+) (%S+) %S+\n[^\n]*\n[^\n]*\n(!?)')
  return tonumber(weight), trial == '!' and 1 or capacityOf(own, poolCapacity)
end
