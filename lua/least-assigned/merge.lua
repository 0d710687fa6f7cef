--[[
  Pick `count` times among members of any weight, as that many single picks would.

  A member that was picked waits with its raised score behind those of its own weight that were picked before it: equal
  weights are raised alike, so each such queue stays in picking order by itself, and the next pick is the first among
  the heads of the queues. As many candidates as picks are enough: no pick can fall on a member behind them.

  Needs  stride.lua, views.lua, `counts`, `members`, `lines`, `views`
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

-- As many members as there are picks, in picking order; none where one of them is on trial.
local function readCandidates(count)
  local found = redis.call('ZRANGE', counts, 0, count - 1, 'WITHSCORES')
  if #found == 0 then return {} end
  local ids = {}
  for at = 1, #found, 2 do ids[#ids + 1] = found[at] end
  local records = redis.call('HMGET', members, unpack(ids))
  local candidates = {}
  for n, id in ipairs(ids) do
    if isOnTrial(records[n]) then return {} end
    local weight = tonumber(string.match(records[n], '^%d+'))
    local score = tonumber(found[n * 2])
    candidates[n] = { id = id, weight = weight, before = score, score = score, count = countAt(score, weight), record = records[n] }
  end
  return candidates
end

-- Says how many picks it made: all or none.
local function mergePicks(count)
  local candidates = readCandidates(count)
  if #candidates == 0 then return 0 end
  local queues = { { head = 1, members = candidates } }
  local waiting = {}
  local at = #lines
  for _ = 1, count do
    local member = firstOf(queues)
    member.count = member.count + 1
    member.score = scoreOf(member.count, member.weight)
    lines[at + 1], lines[at + 2], lines[at + 3] = member.id, member.count, member.record
    at = at + 3

    local queue = waiting[member.weight]
    if not queue then
      queue = { head = 1, members = {} }
      waiting[member.weight] = queue
      queues[#queues + 1] = queue
    end
    queue.members[#queue.members + 1] = member
  end

  local raised = {}
  for n, member in ipairs(candidates) do
    raised[n * 2 - 1], raised[n * 2] = string.format('%d', member.score), member.id
  end
  redis.call('ZADD', counts, unpack(raised))
  for _, member in ipairs(candidates) do
    if member.score ~= member.before and string.byte(member.record, -1) ~= 10 then
      local inViews = viewsIn(member.record)
      moveInViews(views, member.id, inViews, rankText(member.before), inViews, rankText(member.score))
    end
  end
  return count
end
