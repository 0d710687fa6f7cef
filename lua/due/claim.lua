--[[
  Take from the index of what is due the pools whose time has come, for a while: if whoever takes them dies, they are due again.

  KEYS[1]  due      zset  pool, or pool!<label> where it was registered -> when something is due in it, in ms
  ARGV[1]  claimMs  for how long
  ARGV[2]  most     pools at once
  Returns  {time to the next in ms, or -1 for none, the score of the claim, then the pools}
  Time     O(n log N) for n pools
]]
local due = KEYS[1]
local claimMs, most = tonumber(ARGV[1]), ARGV[2]

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local claim = nowMs + claimMs

local pools, seen = {}, {}
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', nowMs, 'LIMIT', 0, most)) do
  local pool = string.match(entry, '^[^!]+')
  if pool ~= entry then redis.call('ZREM', due, entry) end
  if not seen[pool] then
    seen[pool] = true
    pools[#pools + 1] = pool
    redis.call('ZADD', due, claim, pool)
  end
end
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
local reply = { first[2] and math.max(0, tonumber(first[2]) - nowMs) or -1, claim }
for _, pool in ipairs(pools) do reply[#reply + 1] = pool end
return reply
