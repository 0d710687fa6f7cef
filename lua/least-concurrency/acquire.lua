--[[
  Pick the eligible member below its capacity with the least load, make a lease of it and count the selection, once for
  each token. With nothing to lend, stand in line where the caller wants to wait.

  KEYS     see include/lease-keys.lua; with ARGV[6] also
  KEYS[14] sessions      hash  see sessions.lua, as for the next
  KEYS[15] sessionEnds   zset
  KEYS[16] bans          zset  member that is banned for the target -> until when, in ms; not read where there is no target
  KEYS[17] cursors       hash  see narrow.lua; likewise
  ARGV[1]  strategy      the one the caller believes the pool to have
  ARGV[2]  ttlMs         '' for the pool's
  ARGV[3]  registeredMs  the time at which the pool stands in the index of what is due, by the caller's doing; 0 for unknown
  ARGV[4]  wish          '' for none, or "<waitMs> <process: the channel of the one that waits> <hash of the request's body>
                         <ticket of a waiter that lost its place, or -> <requestId, line feed, owner, and where the request is
                         for a target, line feed, target>"
  ARGV[5]  tokens        22 characters for each lease, joined; the first is the waiter's name
  ARGV[6]  filter        as the settings name it, '' for none; absent, as the rest, for a request that is content with any member
  ARGV[7]  view          of that filter, '' for the whole pool
  ARGV[8]  hasTarget     '1' or ''
  ARGV[9]  session       '' for none
  ARGV[10..]             ids that are not to be picked
  Returns  {'', now in ms, expiry in ms, why there were no more or '', retryAfterMs or -1, for each the lines lease, selections
           of the member, its record}; for a repeat with the same requestId the lease that the first one made
           {'WAITING', waiter, ticket} | {'AT_CAPACITY' | 'NONE' | 'NO_MATCH', retryAfterMs or -1}
           {'MORE'}, or MORE as why: call again for the rest, there are more members to look at
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
local isQuiet = wish == '' and not ARGV[6] and not pool.waiting and pool.due and pool.due > nowMs and pool.due <= nowMs + ttlMs
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

local request = { view = ARGV[7] or '', hasTarget = ARGV[8] == '1', excluded = {} }
local session, isNarrow = ARGV[9] or '', ARGV[6] ~= nil
request.isWide = request.hasTarget or #ARGV > 9
for at = 10, #ARGV do request.excluded[ARGV[at]] = true end
if isNarrow then
  local found = redis.call('HMGET', settings, 'ready', 'sessionTtlMs')
  if ARGV[6] ~= '' and not string.find('\n' .. (found[1] or '') .. '\n', '\n' .. ARGV[6] .. '\n', 1, true) then return { 'STALE' } end
  pool.sessionTtlMs = tonumber(found[2])
end
local sessions, sessionEnds, bans, cursors = KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local narrowed
if session ~= '' or request.isWide then
--@include include/narrowed-lending.lua
  narrowed = { find = findMember, keep = keepSession, stop = look.stop }
end

-- Lends for the tokens that are left, as long as there is something to lend; says why it stopped.
local why = ''
local function lendAll(note)
  while lent * TOKEN < #tokens do
    local member
    why = 'FULL'
    if not isAtLimit() then
      if narrowed then member, why = narrowed.find() else member, why = pickMember(request.view), 'NONE' end
    end
    if not member then break end
    why = ''
    if session ~= '' then narrowed.keep(session, member.id, pool.sessionTtlMs) end
    local lease, selections = lend(member, string.sub(tokens, lent * TOKEN + 1, (lent + 1) * TOKEN), ttlMs, note)
    lent = lent + 1
    local at = #lines
    lines[at + 1], lines[at + 2], lines[at + 3] = lease, selections, member.record
  end
  if narrowed then narrowed.stop() end
  writePool()
  return lent * TOKEN == #tokens
end

local line = request.view == '' and ANY or request.view

-- Whether there is such a line, or room for it.
local function hasLine()
  local heads = headsOfLines()
  for _, head in ipairs(heads) do
    if head.view == line then return true end
  end
  return #heads < LINES_MAX
end

-- Stands in line until then; the process is seen, and of two that join one wait the later one is told.
local function stand(waiter, at, deadlineMs)
  redis.call('ZADD', queue, 'NX', at, waiter)
  redis.call('HSET', settings, 'waiting', '1')
  redis.call('HSET', notes, 'w' .. waiter,
    string.format('%s %.0f %.0f %s %s ', process, ttlMs, deadlineMs, hash, line) .. note)
  redis.call('ZADD', views, 0, placeInLine(waiter, line, redis.call('ZSCORE', queue, waiter)))
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
local isServed = serve()
local hasNote = note ~= '\n'
-- Whoever comes takes only what serves nobody who waits.
if isServed and lendAll(hasNote and note or nil) then
  if requestId ~= '' then redis.call('HSET', notes, 'r' .. requestId, hash .. ' ' .. lines[1]) end
  return replyOf(nowMs + ttlMs, lines)
end
writePool()
if why == 'MORE' then
  if lent == 0 then return { 'MORE' } end
  return replyOf(nowMs + ttlMs, lines, 'MORE')
end

local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
local retryAfterMs = first[2] and math.max(0, tonumber(first[2]) - nowMs) or -1
if lent == 0 and waitMs > 0 and redis.call('ZCARD', queue) < WAITERS_MAX then
  if not isWatched(nowMs + 1000, nowMs + 500) then return register(nowMs + 1000) end
  if not hasLine() then return { 'AT_CAPACITY', retryAfterMs } end
  local waiter = string.sub(tokens, 1, TOKEN)
  if ticket == '-' then ticket = string.format('%.0f', nextFence()) end
  stand(waiter, ticket, nowMs + waitMs)
  writePool()
  return { 'WAITING', waiter, ticket }
end

-- How many members at their capacity are looked at before one of them is taken to be fit.
local FULL_MAX = 1000

-- Whether a member that is at its capacity would do.
local function isAnyFull(request)
  local ids = {}
  if request.view == '' then
    ids = redis.call('ZRANGE', full, 0, FULL_MAX - 1)
  else
    local from = request.view .. FULL_RANK
    for n, entry in ipairs(redis.call('ZRANGEBYLEX', views, '[' .. from, '(' .. from .. '\255', 'LIMIT', 0, FULL_MAX)) do
      ids[n] = string.sub(entry, VIEW + 17)
    end
  end
  local untils = request.hasTarget and #ids > 0 and redis.call('ZMSCORE', bans, unpack(ids))
  for n, id in ipairs(ids) do
    local isBanned = untils and untils[n] and tonumber(untils[n]) > nowMs
    if not isBanned and not request.excluded[id] then return true end
  end
  return #ids == FULL_MAX
end

local isBusy = pool.waiting or redis.call('EXISTS', full) == 1 or redis.call('EXISTS', ready) == 1
why = isBusy and (isNarrow and why == 'NONE' and not isAnyFull(request) and 'NO_MATCH' or 'AT_CAPACITY') or 'NONE'
if lent == 0 then return { why, retryAfterMs } end
return replyOf(nowMs + ttlMs, lines, why, retryAfterMs)
