--[[
  Push the expiry of leases out; never forward. A lease that is past its expiry is settled instead.

  KEYS     see include/lease-keys.lua
  ARGV[1..]  three for each lease: lease · ttlMs, '' for the pool's · '1' when the caller was given another fence
  Returns  {''} and for each lease when it expires, in ms, or a word: how it ended, 'u' unknown, 's' stale fence
           {'TTL_TOO_LONG', most} | {'NO_POOL'}: nothing was extended
  Time     O(n log N) for n leases
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/lease-keys.lua
--@include include/lease-views.lua
--@include include/lend.lua
--@include include/settle.lua
--@include include/waiters.lua
if not pool.strategy then return { 'NO_POOL' } end
for at = 2, #ARGV, 3 do
  if (tonumber(ARGV[at]) or 0) > pool.maxTtlMs then return { 'TTL_TOO_LONG', pool.maxTtlMs } end
end

local function extend(lease, ttlMs, isStale)
  local expiresMs = tonumber(redis.call('ZSCORE', leases, lease) or nil)
  if not expiresMs then
    local before = recall(string.sub(lease, 1, TOKEN))
    return before and (isStale and 's' or before) or 'u'
  end
  if isStale then return 's' end
  if expiresMs <= nowMs then
    settle(lease, 'e')
    return 'e'
  end
  local laterMs = nowMs + ttlMs
  if laterMs <= expiresMs then return expiresMs end
  redis.call('ZADD', leases, laterMs, lease)
  return laterMs
end

local reply = { '' }
for at = 1, #ARGV, 3 do
  reply[#reply + 1] = extend(ARGV[at], tonumber(ARGV[at + 1]) or math.min(pool.ttlMs, pool.maxTtlMs), ARGV[at + 2] == '1')
end
if mayHaveExpired() then settleExpired(SETTLE_IN_PASSING) end
serve()
writePool()
return reply
