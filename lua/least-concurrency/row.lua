--[[
  Lend at once, one to each token, the first members in line, and say so in lines, where that is what as many single picks would do: none of
  them has room for less than one lease more, and none would come twice before the last of them came once. Members of a
  weight other than 1, on trial or in views, a pool with a limit, and ties after their first lap are left to the single picks.

  Needs  stride.lua, load.lua, lease-keys.lua, and `tokens`, `ttlMs` of acquire.lua
  Time   O(n log N) for n tokens, in few calls
]]
-- Scores and fences go as texts of whole numbers: Redis would write a number with 17 digits, which takes it far longer.
local function lendRow()
  local count = #tokens / TOKEN
  if pool.limit or pool.hasViews or pool.sequence + count >= LAP then return nil end
  local ids = redis.call('ZRANGE', ready, 0, count - 1)
  if #ids < count then return nil end
  local ends = redis.call('ZMSCORE', ready, ids[1], ids[count])
  local lowest, highest = math.floor(ends[1] / LEVEL), math.floor(ends[2] / LEVEL)
  if highest > lowest + STRIDE then return nil end
  local scores = highest > lowest and redis.call('ZMSCORE', ready, unpack(ids))

  local records = redis.call('HMGET', members, unpack(ids))
  local selected = redis.call('HMGET', counts, unpack(ids))
  local format, sub, match, byte, floor = string.format, string.sub, string.match, string.byte, math.floor
  local shared, expires = capacityOf(nil, pool.capacity), format('%d', nowMs + ttlMs)
  local fence, sequence = math.max(pool.fence + 1, nowUs) - 1, pool.sequence
  local lines, raised, filled, filledIds, lent, counted = {}, {}, {}, {}, {}, {}
  for n = 1, count do
    local id, record = ids[n], records[n]
    local own = match(record, '^1 (%S+)')
    if not own or byte(record, -1) ~= 10 then return nil end
    local inFlight = (scores and floor(scores[n] / LEVEL) or lowest) / STRIDE + 1
    local room = (tonumber(own) or shared) - inFlight
    if room < 0 then return nil end
    local here = raised
    if room == 0 then
      here = filled
      filledIds[#filledIds + 1] = id
    end
    local at = #here
    here[at + 1], here[at + 2] = format('%d', inFlight * STRIDE * LEVEL + (sequence + n) * 2), id
    local lease = sub(tokens, n * TOKEN - TOKEN + 1, n * TOKEN) .. format('.%x.', fence + n) .. id
    local selections = (selected[n] or 0) + 1
    at = n * 2
    lent[at - 1], lent[at] = expires, lease
    counted[at - 1], counted[at] = id, selections
    at = n * 3
    lines[at - 2], lines[at - 1], lines[at] = lease, selections, record
  end

  if #raised > 0 then redis.call('ZADD', ready, unpack(raised)) end
  if #filled > 0 then
    redis.call('ZREM', ready, unpack(filledIds))
    redis.call('ZADD', full, unpack(filled))
  end
  redis.call('ZADD', leases, unpack(lent))
  redis.call('HSET', counts, unpack(counted))
  redis.call('HSET', settings, 'fence', format('%d', fence + count), 'sequence', format('%d', sequence + count))
  return lines
end
