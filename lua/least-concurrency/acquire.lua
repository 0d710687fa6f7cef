--[[
  Pick the eligible member below its capacity with the least load, make a lease of it and count the selection, once for
  each token. With nothing to lend, stand in line where the caller wants to wait.

  KEYS     see include/leases.lua
  ARGV[1]  strategy      the one the caller believes the pool to have
  ARGV[2]  registeredMs  the time at which the pool stands in the index of what is due, by the caller's doing; 0 for unknown
  ARGV[3]  ttlMs         '' for the pool's
  ARGV[4]  requestId     '' for none
  ARGV[5]  owner         '' for none
  ARGV[6]  hash          of the request's body, for a repeat with the same requestId
  ARGV[7]  waitMs        0: do not wait
  ARGV[8]  process       the channel of the process that waits
  ARGV[9]  ticket        of a waiter that lost its place, '' for a new one
  ARGV[10..]             a token for each lease; the first is the waiter's name
  Returns  {'', now in ms, expiry in ms, then three for each: lease, selections of the member, its record}; for a repeat
           with the same requestId the lease that the first one made
           {'WAITING', waiter, ticket, retryAfterMs} | {'AT_CAPACITY' | 'NONE', retryAfterMs or -1}
           {'STALE'} | {'TTL_TOO_LONG', most} | {'REUSED', how its lease ended, or ''}
           {'REGISTER', at}: put the pool into the index of what is due, then call again
  Ties     by who was picked longest ago
  Time     O(log N) for one
]]
--@include include/stride.lua
--@include include/load.lua
--@include include/leases.lua
--@include include/waiters.lua
local strategy, registeredMs, ttlMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local requestId, owner, hash = ARGV[4], ARGV[5], ARGV[6]
local waitMs, process, ticket = tonumber(ARGV[7]), ARGV[8], ARGV[9]
local FIRST_TOKEN = 10
local WAITERS_MAX, LOST_MS = 10000, 5000

local p = readPool()
if p.strategy ~= strategy then return { 'STALE' } end
ttlMs = ttlMs or p.ttlMs
if ttlMs > p.maxTtlMs then return { 'TTL_TOO_LONG', p.maxTtlMs } end

-- Stands in line; the process is seen, and of two that join one wait the later one is told.
local function stand(waiter, at)
  local note = requestId .. '\n' .. owner
  local text = string.format('%s %.0f %.0f %s ', process, ttlMs, nowMs + waitMs, hash) .. note
  redis.call('ZADD', queue, 'NX', at, waiter)
  redis.call('HSET', notes, 'w' .. waiter, text)
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
    if lease then return { '', nowMs, expiresMs, lease, selections, record } end
    if waiter and redis.call('ZSCORE', queue, waiter) then
      stand(waiter, 0)
      return { 'WAITING', waiter, redis.call('ZSCORE', queue, waiter), -1 }
    end
    if not waiter then
      -- Past its expiry; or its member was removed, so that nobody can say what to use: it is given back.
      settle(target, (tonumber(redis.call('ZSCORE', leases, target) or nil) or 0) <= nowMs and 'e' or 'a')
    end
  end
  local how = recall('?' .. requestId)
  if how then return { 'REUSED', how } end
end

-- Whether somebody looks at the pool by then: the index of what is due says so, or the caller has just written it there.
local function isWatched(byMs, sinceMs)
  -- One that is long past was lost with the index.
  if p.due and p.due <= byMs and p.due > nowMs - LOST_MS then return true end
  if registeredMs > byMs or registeredMs < sinceMs then return false end
  p.due = registeredMs
  redis.call('HSET', settings, 'due', string.format('%.0f', p.due))
  return true
end

if not isWatched(nowMs + ttlMs, nowMs + ttlMs / 2) then return { 'REGISTER', nowMs + ttlMs } end

settleExpired(SETTLE_IN_PASSING)
local inLine = redis.call('EXISTS', queue) == 1
if inLine then
  serve()
  inLine = redis.call('EXISTS', queue) == 1
end

local note = (requestId ~= '' or owner ~= '') and requestId .. '\n' .. owner or nil
local reply = { '', nowMs, nowMs + ttlMs }
if not inLine or ticket ~= '' and redis.call('ZCOUNT', queue, '-inf', '(' .. ticket) == 0 then
  for at = FIRST_TOKEN, #ARGV do
    local member = not isAtLimit() and pickMember()
    if not member then break end
    local lease, selections = lend(member, ARGV[at], ttlMs, note)
    if requestId ~= '' then redis.call('HSET', notes, 'r' .. requestId, hash .. ' ' .. lease) end
    reply[#reply + 1] = lease
    reply[#reply + 1] = selections
    reply[#reply + 1] = member.record
  end
end
if #reply > 3 then
  writePool()
  return reply
end

local function retryAfter()
  local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
  return first[2] and math.max(0, tonumber(first[2]) - nowMs) or -1
end

if waitMs > 0 and redis.call('ZCARD', queue) < WAITERS_MAX then
  if not isWatched(nowMs + 1500, nowMs + 500) then
    writePool()
    return { 'REGISTER', nowMs + 1000 }
  end
  local waiter = ARGV[FIRST_TOKEN]
  if ticket == '' then ticket = string.format('%.0f', nextFence()) end
  stand(waiter, ticket)
  writePool()
  return { 'WAITING', waiter, ticket, retryAfter() }
end
writePool()
local isBusy = inLine or redis.call('EXISTS', full) == 1 or redis.call('EXISTS', ready) == 1
return { isBusy and 'AT_CAPACITY' or 'NONE', retryAfter() }
