--[[
  Pick the eligible member below its capacity with the least load, make a lease of it and count the selection, once for
  each token. With nothing to lend, stand in line where the caller wants to wait.

  KEYS     see include/lease-keys.lua
  ARGV[1]  strategy      the one the caller believes the pool to have
  ARGV[2]  ttlMs         '' for the pool's
  ARGV[3]  registeredMs  the time at which the pool stands in the index of what is due, by the caller's doing; 0 for unknown
  ARGV[4]  wish          '' for none, or "<waitMs> <process: the channel of the one that waits> <hash of the request's body>
                         <ticket of a waiter that lost its place, or -> <requestId, line feed, owner>"
  ARGV[5]  tokens        22 characters for each lease, joined; the first is the waiter's name
  Returns  {'', now in ms, expiry in ms, why there were no more or '', retryAfterMs or -1, for each the lines lease, selections
           of the member, its record}; for a repeat with the same requestId the lease that the first one made
           {'WAITING', waiter, ticket} | {'AT_CAPACITY' | 'NONE', retryAfterMs or -1}
           {'STALE'} | {'TTL_TOO_LONG', most} | {'REUSED', how its lease ended, or ''}
           {'REGISTER', at, label}: put the pool into the index of what is due, under that label, then call again
  Ties     by who was picked longest ago
  Time     O(log N) for one
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/lease-keys.lua
local strategy, ttlMs, registeredMs, wish = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local tokens = ARGV[5]

if pool.strategy ~= strategy then return { 'STALE' } end
ttlMs = ttlMs or math.min(pool.ttlMs, pool.maxTtlMs)
if ttlMs > pool.maxTtlMs then return { 'TTL_TOO_LONG', pool.maxTtlMs } end

local function replyOf(expiresMs, lines, why, retryAfterMs)
  return { '', nowMs, expiresMs, why or '', retryAfterMs or -1, table.concat(lines, '\n') }
end

-- Nearly every call: nobody waits, nothing has expired, and what is wanted is a lease. Free of what the rest needs.
local isQuiet = wish == '' and not pool.waiting and pool.due and pool.due > nowMs and pool.due <= nowMs + ttlMs
--@include least-concurrency/row.lua
local row = isQuiet and lendRow()
if row then return replyOf(nowMs + ttlMs, row) end
--@include include/lease-views.lua
--@include include/lend.lua
--@include include/settle.lua
--@include include/waiters.lua
local WAITERS_MAX, LOST_MS = 10000, 5000
local lent, lines = 0, {}
local waitMs, process, hash, ticket, note = string.match(wish == '' and '0 - - - \n' or wish, '^(%S+) (%S+) (%S+) (%S+) (.*)$')
local requestId = string.match(note, '^([^\n]*)')
waitMs = tonumber(waitMs)

-- Lends for the tokens that are left, as long as there is something to lend.
local function lendAll(note)
  while lent * TOKEN < #tokens do
    local member = not isAtLimit() and pickMember()
    if not member then break end
    local lease, selections = lend(member, string.sub(tokens, lent * TOKEN + 1, (lent + 1) * TOKEN), ttlMs, note)
    lent = lent + 1
    local at = #lines
    lines[at + 1], lines[at + 2], lines[at + 3] = lease, selections, member.record
  end
  writePool()
  return lent * TOKEN == #tokens
end

-- Stands in line until then; the process is seen, and of two that join one wait the later one is told.
local function stand(waiter, at, deadlineMs)
  redis.call('ZADD', queue, 'NX', at, waiter)
  redis.call('HSET', settings, 'waiting', '1')
  redis.call('HSET', notes, 'w' .. waiter,
    string.format('%s %.0f %.0f %s ', process, ttlMs, deadlineMs, hash) .. note)
  see(process)
  if requestId ~= '' then redis.call('HSET', notes, 'r' .. requestId, hash .. ' ~' .. waiter) end
end

if requestId ~= '' then
  local known = redis.call('HGET', notes, 'r' .. requestId)
  if known then
    local knownHash, target = string.match(known, '^(%S+) (.*)$')
    if knownHash ~= hash then return { 'REUSED', '' } end
    local waiter = string.match(target, '^~(.*)$')
    local lease, expiresMs, selections, record = leaseOf(requestId)
    if lease then return replyOf(expiresMs, { lease, selections, record }) end
    if waiter and redis.call('ZSCORE', queue, waiter) then
      local first = readWaiter(waiter)
      if waitMs > 0 then stand(waiter, 0, math.max(nowMs + waitMs, first and first.deadlineMs or 0)) end
      return { 'WAITING', waiter, redis.call('ZSCORE', queue, waiter) }
    end
    if not waiter then
      -- Past its expiry; or its member was removed, so that nobody can say what to use: it is given back.
      settle(target, (tonumber(redis.call('ZSCORE', leases, target) or nil) or 0) <= nowMs and 'e' or 'a')
    end
  end
  local how = recall('?' .. requestId)
  if how then return { 'REUSED', how } end
end

-- Asks the caller to see to it that somebody looks at the pool by then. What is registered under one label is at most a
-- quarter of the time from now apart, so that an entry that is there already is none that is taken while the lease is made.
local function register(atMs)
  local size = math.max(1, math.floor((atMs - nowMs) / 4))
  return { 'REGISTER', atMs, string.format('%.0f:%.0f', size, math.floor(atMs / size)) }
end

-- What was due long ago is not in the index any more: somebody has to look at once.
if pool.due and pool.due <= nowMs - LOST_MS then
  if registeredMs <= nowMs - LOST_MS then return register(nowMs) end
  pool.due = registeredMs
  redis.call('HSET', settings, 'due', string.format('%.0f', registeredMs))
end

-- Whether somebody looks at the pool by then: the index of what is due says so, or the caller has just written it there.
local function isWatched(byMs, sinceMs)
  if pool.due and pool.due <= byMs then return true end
  if registeredMs > byMs or registeredMs < sinceMs then return false end
  pool.due = registeredMs
  redis.call('HSET', settings, 'due', string.format('%.0f', registeredMs))
  return true
end

if not isWatched(nowMs + ttlMs, nowMs + ttlMs / 2) then return register(nowMs + ttlMs) end

settleExpired(SETTLE_IN_PASSING)
serve()
local isFirst = ticket ~= '-' and redis.call('ZCOUNT', queue, '-inf', '(' .. ticket) == 0
local hasNote = note ~= '\n'
if (not pool.waiting or isFirst) and lendAll(hasNote and note or nil) then
  if requestId ~= '' then redis.call('HSET', notes, 'r' .. requestId, hash .. ' ' .. lines[1]) end
  return replyOf(nowMs + ttlMs, lines)
end
writePool()

local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
local retryAfterMs = first[2] and math.max(0, tonumber(first[2]) - nowMs) or -1
if lent == 0 and waitMs > 0 and redis.call('ZCARD', queue) < WAITERS_MAX then
  if not isWatched(nowMs + 1000, nowMs + 500) then return register(nowMs + 1000) end
  local waiter = string.sub(tokens, 1, TOKEN)
  if ticket == '-' then ticket = string.format('%.0f', nextFence()) end
  stand(waiter, ticket, nowMs + waitMs)
  writePool()
  return { 'WAITING', waiter, ticket }
end
local isBusy = pool.waiting or redis.call('EXISTS', full) == 1 or redis.call('EXISTS', ready) == 1
local why = isBusy and 'AT_CAPACITY' or 'NONE'
if lent == 0 then return { why, retryAfterMs } end
return replyOf(nowMs + ttlMs, lines, why, retryAfterMs)
