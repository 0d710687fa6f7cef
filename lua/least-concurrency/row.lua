--[[
  Lend at once, one to each token, the first members in line, where that is what as many single picks would do: none of
  them has room for less than one lease more, and none would come twice before the last of them came once. Members of a
  weight other than 1, a pool with a limit, and ties after their first lap are left to the single picks.

  Needs  stride.lua, load.lua, lease-keys.lua, and `reply`, `ttlMs` of acquire.lua
  Time   O(n log N) for n tokens, in few calls
]]
local function lendRow(firstToken)
  local count = #ARGV - firstToken + 1
  if pool.limit or pool.sequence + count >= LAP then return false end
  local row = redis.call('ZRANGE', ready, 0, count - 1, 'WITHSCORES')
  if #row < count * 2 then return false end
  local raisedFirst = (math.floor(row[2] / LEVEL) + STRIDE) * LEVEL + tieAt(pool.sequence + 1, 1)
  if tonumber(row[count * 2]) >= raisedFirst then return false end

  local ids, inFlights, capacities = {}, {}, {}
  for n = 1, count do ids[n] = row[n * 2 - 1] end
  local records = redis.call('HMGET', members, unpack(ids))
  for n = 1, count do
    local own = string.match(records[n], '^1 (%S+)')
    if not own then return false end
    inFlights[n] = math.floor(row[n * 2] / LEVEL) / STRIDE
    capacities[n] = capacityOf(own, pool.capacity)
    if inFlights[n] >= capacities[n] then return false end
  end

  local selected = redis.call('HMGET', counts, unpack(ids))
  local raised, lent, counted = {}, {}, {}
  local expiresMs = nowMs + ttlMs
  for n, id in ipairs(ids) do
    pool.fence = math.max(pool.fence + 1, nowUs)
    pool.sequence = pool.sequence + 1
    local score = loadScore(inFlights[n] + 1, 1, tieAt(pool.sequence, 1))
    if inFlights[n] + 1 < capacities[n] then
      raised[#raised + 1] = score
      raised[#raised + 1] = id
    else
      redis.call('ZREM', ready, id)
      redis.call('ZADD', full, score, id)
    end
    local lease = ARGV[firstToken + n - 1] .. string.format('.%x.', pool.fence) .. id
    lent[n * 2 - 1], lent[n * 2] = expiresMs, lease
    local selections = (tonumber(selected[n]) or 0) + 1
    counted[n * 2 - 1], counted[n * 2] = id, selections
    local at = n * 3 + 3
    reply[at], reply[at + 1], reply[at + 2] = lease, selections, records[n]
  end
  if #raised > 0 then redis.call('ZADD', ready, unpack(raised)) end
  redis.call('ZADD', leases, unpack(lent))
  redis.call('HSET', counts, unpack(counted))
  redis.call('HSET', settings, 'fence', pool.fence, 'sequence', pool.sequence)
  return true
end
