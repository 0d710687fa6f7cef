--[[
  End leases, each once, and hand what that frees to those who wait.

  KEYS       see include/lease-keys.lua
  ARGV[1..]  two for each lease: lease · how, 'c' complete, 'a' abandon, 'f' by force, or 's' only look, since the caller was
             given another fence than the lease's
  Returns  {'NO_POOL'}, or {''} and a letter for each: '.' it ended now, how it had ended before or, 'e', just now by its
           expiry, 's' stale fence, 'u' unknown
  Time     O(n log N) for n leases
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/lease-keys.lua
--@include include/settle.lua
if not pool.strategy then return { 'NO_POOL' } end

local function finish(lease, how)
  if mayHaveExpired() and (tonumber(redis.call('ZSCORE', leases, lease) or nil) or nowMs + 1) <= nowMs then
    settle(lease, 'e')
  end
  local isStale = how == 's'
  if not isStale and settle(lease, how) then return '.' end
  local before = recall(string.sub(lease, 1, TOKEN))
  if isStale and (before or redis.call('ZSCORE', leases, lease)) then return 's' end
  return before or 'u'
end

local reply = { '' }
for at = 1, #ARGV, 2 do reply[#reply + 1] = finish(ARGV[at], ARGV[at + 1]) end

if mayHaveExpired() then settleExpired(SETTLE_IN_PASSING) end
if not pool.waiting then return reply end
--@include include/lend.lua
--@include include/waiters.lua
serve()
writePool()
return reply
