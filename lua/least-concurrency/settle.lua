--[[
  End leases, each once, and hand what that frees to those who wait.

  KEYS       see include/lease-keys.lua
  ARGV[1]    hows  a letter for each lease: 'c' complete, 'a' abandon, 'f' by force; for one alone also 's', only look, since
             the caller was given another fence than the lease's
  ARGV[2]    lease
  ARGV[3..]  more of them
  Returns  {'NO_POOL'}, or {'', a letter for each}: '.' it ended now, how it had ended before or, 'e', just now by its
           expiry, 's' stale fence, 'u' unknown
  Time     O(n log N) for n leases
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/lease-keys.lua
--@include include/lease-views.lua
--@include include/settle.lua
local hows = ARGV[1]
if not pool.strategy then return { 'NO_POOL' } end

-- What is past its expiry ends by that, and not by what is asked.
if mayHaveExpired() then
  settleExpired(SETTLE_IN_PASSING)
  for at = 2, #ARGV do
    if (tonumber(redis.call('ZSCORE', leases, ARGV[at]) or nil) or nowMs + 1) <= nowMs then settle(ARGV[at], 'e') end
  end
end

local function whyNot(lease, isStale)
  local before = recall(string.sub(lease, 1, TOKEN))
  if isStale and (before or redis.call('ZSCORE', leases, lease)) then return 's' end
  return before or 'u'
end

local found = {}
if #ARGV == 2 then
  found[1] = hows ~= 's' and settle(ARGV[2], hows) and '.' or whyNot(ARGV[2], hows == 's')
else
  local names = { unpack(ARGV, 2) }
  for n, hasEnded in ipairs(settleMany(names, hows)) do found[n] = hasEnded and '.' or whyNot(names[n], false) end
end
local reply = { '', table.concat(found) }
if not pool.waiting then return reply end
--@include include/lend.lua
--@include include/waiters.lua
serve()
writePool()
return reply
