--[[
  End leases, each once, and hand what that frees to those who wait.

  KEYS       see include/lease-keys.lua
  ARGV[1..]  two for each lease: lease · how, 'c' complete, 'a' abandon, 'f' by force; for one alone also 's', only look, since
             the caller was given another fence than the lease's
  Returns  {'NO_POOL'}, or {''} and a letter for each: '.' it ended now, how it had ended before or, 'e', just now by its
           expiry, 's' stale fence, 'u' unknown
  Time     O(n log N) for n leases
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/lease-keys.lua
--@include include/settle.lua
if not pool.strategy then return { 'NO_POOL' } end

-- What is past its expiry ends by that, and not by what is asked.
if mayHaveExpired() then
  settleExpired(SETTLE_IN_PASSING)
  for at = 1, #ARGV, 2 do
    if (tonumber(redis.call('ZSCORE', leases, ARGV[at]) or nil) or nowMs + 1) <= nowMs then settle(ARGV[at], 'e') end
  end
end

local function whyNot(lease, isStale)
  local before = recall(string.sub(lease, 1, TOKEN))
  if isStale and (before or redis.call('ZSCORE', leases, lease)) then return 's' end
  return before or 'u'
end

local reply = { '' }
if #ARGV == 2 then
  local lease, how = unpack(ARGV)
  reply[2] = how ~= 's' and settle(lease, how) and '.' or whyNot(lease, how == 's')
else
  local names, hows = {}, {}
  for at = 1, #ARGV, 2 do names[#names + 1], hows[#hows + 1] = ARGV[at], ARGV[at + 1] end
  local hasEnded = settleMany(names, hows)
  for n, lease in ipairs(names) do reply[n + 1] = hasEnded[n] and '.' or whyNot(lease, false) end
end
if not pool.waiting then return reply end
--@include include/lend.lua
--@include include/waiters.lua
serve()
writePool()
return reply
