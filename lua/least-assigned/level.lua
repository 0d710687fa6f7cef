--[[
  Pick in a row among the members that share the lowest score, where all of them have weight 1: they come in the order of
  their ids, lap after lap, until one more lap would pass those that stand next or the picks run out. That is what as many
  single picks would do; the sorted set itself says who is next, so that no id is compared here.

  Rows are few: each one ends the picks or takes those that stand next into its own level, so that 1,000 picks need at most
  45 rows, however uneven the counts.

  Needs  stride.lua, `counts`, `members`, `lines`
  Time   O(k log N) for k picks
]]

-- The ids on the lowest level, at most so many, their score, and the room above them in laps. Nil for an empty index.
local function lowestLevel(most)
  local ids = redis.call('ZRANGE', counts, 0, most - 1)
  if #ids == 0 then return nil end
  local ends = redis.call('ZMSCORE', counts, ids[1], ids[#ids])
  local score, above = tonumber(ends[1]), nil
  if ends[1] ~= ends[2] then
    local size = redis.call('ZCOUNT', counts, ends[1], ends[1])
    above = redis.call('ZRANGE', counts, size, size, 'WITHSCORES')[2]
    ids = redis.call('ZRANGE', counts, 0, size - 1)
  end
  return ids, score, above and math.floor((above - score) / STRIDE) or most
end

-- Makes at most `most` picks of one level; says how many, or 0 where members of other weights or in views are among them or in between. Nil for nobody.
local function pickLevel(most)
  local ids, score, room = lowestLevel(most)
  if not ids then return nil end
  local records = redis.call('HMGET', members, unpack(ids))
  for n = 1, #ids do
    if string.sub(records[n], 1, 2) ~= '1 ' or string.byte(records[n], -1) ~= 10 then return 0 end
  end
  local laps = math.min(room, math.floor(most / #ids))
  local count, at = score / STRIDE, #lines
  for lap = 1, laps do
    local picked = string.format('%d', count + lap)
    for n, id in ipairs(ids) do
      lines[at + 1], lines[at + 2], lines[at + 3] = id, picked, records[n]
      at = at + 3
    end
  end
  local raised, raisedScore = {}, string.format('%d', score + laps * STRIDE)
  for n, id in ipairs(ids) do raised[n * 2 - 1], raised[n * 2] = raisedScore, id end
  redis.call('ZADD', counts, unpack(raised))
  return laps * #ids
end
