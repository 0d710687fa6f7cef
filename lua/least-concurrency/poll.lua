--[[
  Ask, for waiters of one process, what has become of them, and say by it that the process is alive.

  KEYS     see include/lease-keys.lua
  ARGV[1]  process  the channel of the process
  ARGV[2]  leave    '1': those that were handed nothing leave the line; '2': also a lease that was handed over is given back
  ARGV[3..]         two for each waiter: waiter · requestId, '' for none
  Returns  {'NO_POOL'}, or {'', now in ms} and five for each waiter: 'LEASE', lease, expiry in ms, selections of the member, its record
           'STILL', still in line, or 'LOST', neither; then four blanks
  Time     O(n log N) for n waiters
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/lease-keys.lua
--@include include/lease-views.lua
--@include include/lend.lua
--@include include/settle.lua
--@include include/waiters.lua
local process, leave = ARGV[1], ARGV[2]
if not pool.strategy then return { 'NO_POOL' } end

settleExpired(SETTLE_IN_PASSING)
if leave == '0' then see(process) end
serve()

local function told(waiter, requestId)
  if leave == '2' then
    local lease = redis.call('HGET', notes, 'g' .. waiter)
    if lease then settle(lease, 'a') end
    dismiss(waiter, readWaiter(waiter))
    return 'LOST'
  end
  local lease, expiresMs, selections, record = confirm(waiter)
  if not lease then lease, expiresMs, selections, record = leaseOf(requestId) end
  if lease then return 'LEASE', lease, expiresMs, selections, record end
  if not redis.call('ZSCORE', queue, waiter) then return 'LOST' end
  if leave == '1' then
    dismiss(waiter, readWaiter(waiter))
    return 'LOST'
  end
  if not pool.waiting then
    redis.call('HSET', settings, 'waiting', '1')
    pool.waiting = '1'
  end
  return 'STILL'
end

local reply = { '', nowMs }
for at = 3, #ARGV, 2 do
  local word, lease, expiresMs, selections, record = told(ARGV[at], ARGV[at + 1])
  reply[#reply + 1] = word
  reply[#reply + 1] = lease or ''
  reply[#reply + 1] = expiresMs or ''
  reply[#reply + 1] = selections or ''
  reply[#reply + 1] = record or ''
end
if leave ~= '0' then serve() end
writePool()
return reply
