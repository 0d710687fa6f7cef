--[[
  Take members of a pool whose probe is due, those first that were due first, for a while: if whoever takes them dies, they are due
  again when the claim ends. A claim is named by its end, which no other claim of the pool has, and is the time at which its members
  are due: whatever makes a member due at another time, as its removal and return do, takes it from the claim.

  KEYS[1]  settings  hash  the pool's settings
  KEYS[2]  members   hash  member id -> record
  KEYS[3]  probes    zset  id of a candidate or unhealthy member -> when it is to be probed, in ms
  KEYS[4]  probing   zset  <claim> <member id> -> when the claim ends, in ms
  ARGV[1]  probe     settings of probes that the caller goes by, as JSON
  ARGV[2]  most      members at once, a few hundred
  ARGV[3]  marginMs  for how long beyond the time that a probe may take
  Returns  {'', left: 1 when more members are due now, next: when there is something to claim again, in ms, or -1 for never,
           claim, then two for each member: id · record}, or {'STALE'}: the settings are others
  Time     O(n log N) for n members and claims that have ended
]]
local settings, members, probes, probing = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local probe, most, marginMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local found = redis.call('HMGET', settings, 'probe', 'lastClaim')
if found[1] ~= probe then return { 'STALE' } end
local wanted = cjson.decode(probe)
-- Before the first probe the service's own address may have to be found.
local claimMs = wanted.timeoutMs * (wanted.exitAddress and 2 or 1) + marginMs
local claim = math.max(nowMs + claimMs, (tonumber(found[2]) or 0) + 1)

redis.call('ZREMRANGEBYSCORE', probing, '-inf', nowMs)
local room = wanted.concurrency - redis.call('ZCARD', probing)
local ids = {}
if room > 0 then ids = redis.call('ZRANGEBYSCORE', probes, '-inf', nowMs, 'LIMIT', 0, math.min(room, most)) end

local taken = {}
if #ids > 0 then
  local records = redis.call('HMGET', members, unpack(ids))
  local name = string.format('%.0f', claim)
  redis.call('HSET', settings, 'lastClaim', name)
  for n, id in ipairs(ids) do
    redis.call('ZADD', probes, name, id)
    redis.call('ZADD', probing, name, name .. ' ' .. id)
    taken[#taken + 1] = id
    taken[#taken + 1] = records[n]
  end
end

local first = tonumber(redis.call('ZRANGE', probes, 0, 0, 'WITHSCORES')[2])
local left, next = first and first <= nowMs, first
if left and room <= #ids then next = tonumber(redis.call('ZRANGE', probing, 0, 0, 'WITHSCORES')[2]) end
return { '', left and 1 or 0, next or -1, claim, unpack(taken) }
