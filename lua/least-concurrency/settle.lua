--[[
  End one lease, once, and hand what that frees to the first who waits.

  KEYS     see include/leases.lua
  ARGV[1]  lease
  ARGV[2]  how      'c' complete, 'a' abandon, 'f' by force
  ARGV[3]  isStale  '1' when the caller was given another fence than the lease's
  Returns  {''} when it ended now, {'ENDED', how} when it had ended before or is past its expiry, or
           {'STALE_FENCE' | 'UNKNOWN' | 'NO_POOL'}
  Time     O(log N)
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/leases.lua
--@include include/waiters.lua
local lease, how, isStale = ARGV[1], ARGV[2], ARGV[3] == '1'

local expiresMs = tonumber(redis.call('ZSCORE', leases, lease) or nil)
local isExpired = expiresMs and expiresMs <= nowMs

if not isStale and settle(lease, isExpired and 'e' or how) then
  settleExpired(SETTLE_IN_PASSING)
  if redis.call('EXISTS', queue) == 1 then
    serve()
    writePool()
  end
  return isExpired and { 'ENDED', 'e' } or { '' }
end

local before = recall(string.sub(lease, 1, TOKEN))
if isStale and (expiresMs or before) then return { 'STALE_FENCE' } end
if before then return { 'ENDED', before } end
return { redis.call('EXISTS', settings) == 1 and 'UNKNOWN' or 'NO_POOL' }
