--[[
  Pick `count` times from candidates that stand in picking order, as that many single picks would.

  A member that was picked waits with its raised score behind those of its own weight that were picked before it: equal
  weights are raised alike, so each such queue stays in picking order by itself, and the next pick is the first among
  the heads of the queues. As many candidates as picks are enough: no pick can fall on a member behind them.

  Needs  stride.lua
  Time   O(count * number of different weights)
]]

-- Whether an id comes before another in the order of their bytes; Lua's own `<` follows the locale.
local function idBefore(a, b)
  local shorter = math.min(#a, #b)
  for at = 1, shorter do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function before(a, b)
  if a.score ~= b.score then return a.score < b.score end
  return idBefore(a.id, b.id)
end

local function firstOf(queues)
  local best, bestHead
  for _, queue in ipairs(queues) do
    local head = queue.members[queue.head]
    if head and (not best or before(head, bestHead)) then best, bestHead = queue, head end
  end
  best.head = best.head + 1
  return bestHead
end

local function mergePicks(candidates, count)
  local queues = { { head = 1, members = candidates } }
  local waiting = {}
  local picks = {}
  for n = 1, count do
    local member = firstOf(queues)
    member.count = member.count + 1
    member.score = scoreOf(member.count, member.weight)
    picks[n] = { member = member, count = member.count }

    local queue = waiting[member.weight]
    if not queue then
      queue = { head = 1, members = {} }
      waiting[member.weight] = queue
      queues[#queues + 1] = queue
    end
    queue.members[#queue.members + 1] = member
  end
  return picks
end
