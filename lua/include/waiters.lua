--[[
  Waiters stand in line by their ticket. Whoever frees a slot hands it to the first of them that is alive: makes the lease,
  for two seconds until the waiter's process confirms it, and tells that process.

  A waiter's note is "<process> <ttlMs> <deadline in ms> <body hash> <view, or eleven dots for any member> <requestId, line feed, owner>".

  Those who wait for the members of a view have a line of their own, and so have those who wait for any member: what is free goes to
  the oldest of those whom it serves. The lines stand among the views, as "!<view, or eleven dots><ticket, 16 digits><waiter>".

  Needs  lend.lua, settle.lua
]]
-- A process that waits reports every half second. One that is neither seen nor heard is gone; one that is heard may be late.
local DEAF_MS, DEAD_MS = 1000, 4500
-- For so long a process is noted after it was seen; those of processes that have gone run out by themselves.
local SEEN_MS = 10000
local HAND_OVER_MS = 2000
-- How many waiters one script serves.
local SERVE_MAX = 16
-- How many lines a pool has at most: whoever asks for yet another view does not wait.
local LINES_MAX = 64
local ANY = string.rep('.', VIEW)

local function see(process)
  redis.call('ZADD', seen, nowMs, process)
  redis.call('ZREMRANGEBYSCORE', seen, '-inf', nowMs - SEEN_MS)
  redis.call('PEXPIRE', seen, SEEN_MS)
end

local function readWaiter(waiter)
  local text = redis.call('HGET', notes, 'w' .. waiter)
  if not text then return nil end
  local process, ttlMs, deadlineMs, hash, view, note = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  return {
    process = process, ttlMs = tonumber(ttlMs), deadlineMs = tonumber(deadlineMs), hash = hash, view = view,
    note = note, requestId = string.match(note, '^([^\n]*)'),
  }
end

-- The first in line, or nil; a line that has become empty is no longer noted as one.
local function headOfLine()
  if not pool.waiting then return nil end
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  if not head then
    redis.call('HDEL', settings, 'waiting')
    pool.waiting = nil
  end
  return head
end

local function placeInLine(waiter, view, ticket)
  return '!' .. view .. string.format('%016.0f', ticket) .. waiter
end

-- The first of each line, those who came first before the others.
local function headsOfLines()
  local heads, from = {}, '[!'
  for _ = 1, LINES_MAX do
    local place = redis.call('ZRANGEBYLEX', views, from, '("', 'LIMIT', 0, 1)[1]
    if not place then break end
    local view = string.sub(place, 2, VIEW + 1)
    heads[#heads + 1] = { view = view, ticket = string.sub(place, VIEW + 2, VIEW + 17), waiter = string.sub(place, VIEW + 18) }
    from = '(!' .. view .. FULL
  end
  table.sort(heads, function(a, b) return tonumber(a.ticket) < tonumber(b.ticket) end)
  return heads
end

local function leaveLine(waiter, view)
  local ticket = redis.call('ZSCORE', queue, waiter)
  redis.call('ZREM', queue, waiter)
  if ticket and view then redis.call('ZREM', views, placeInLine(waiter, view, ticket)) end
  headOfLine()
end

-- Takes a waiter out of the line, with all that is noted of it.
local function dismiss(waiter, found)
  leaveLine(waiter, found and found.view)
  redis.call('HDEL', notes, 'w' .. waiter)
  if found and found.requestId ~= '' and redis.call('HGET', notes, 'r' .. found.requestId) == found.hash .. ' ~' .. waiter then
    redis.call('HDEL', notes, 'r' .. found.requestId)
  end
end

-- How long ago a process was last seen; a time that is still to come is as good as none.
local function unseenFor(process)
  return math.abs(nowMs - tonumber(redis.call('ZSCORE', seen, process) or 0))
end

-- Whether the process of a waiter can take what it is handed; it has been told by then.
local function takes(waiter, found)
  if not found then return false end
  local unseenMs = unseenFor(found.process)
  local isGone = unseenMs > DEAD_MS
  if not isGone then
    if found.deadlineMs <= nowMs then return false end
    isGone = redis.call('PUBLISH', found.process, waiter) == 0 and unseenMs > DEAF_MS
  end
  if isGone then redis.call('ZREM', seen, found.process) end
  return not isGone
end

local function handOver(waiter, found, member)
  -- Not longer than the lease itself: confirming it must not bring its expiry forward.
  local lease = lend(member, waiter, math.min(HAND_OVER_MS, found.ttlMs), found.note)
  leaveLine(waiter, found.view)
  redis.call('HSET', notes, 'g' .. waiter, lease)
  if found.requestId ~= '' then redis.call('HSET', notes, 'r' .. found.requestId, found.hash .. ' ' .. lease) end
end

-- The waiter who is to be served next, and with what member; nil when nobody can be.
local function nextToServe()
  for _, head in ipairs(headsOfLines()) do
    local member = pickMember(head.view == ANY and '' or head.view)
    if member then return head, member end
  end
  return nil
end

-- Hands out what is free to those who wait, in their order; says whether nobody is left whom anything that is free would serve.
local function serve()
  for _ = 1, SERVE_MAX do
    if not headOfLine() or isAtLimit() then return true end
    local head, member = nextToServe()
    if not head then return true end
    local found = readWaiter(head.waiter)
    if takes(head.waiter, found) then
      handOver(head.waiter, found, member)
    else
      redis.call('ZREM', views, '!' .. head.view .. head.ticket .. head.waiter)
      dismiss(head.waiter, found)
    end
  end
  return false
end

-- Takes out of the head of the line, also when nothing is free, those whose time is over or whose process is long gone.
local function sweep()
  for _ = 1, SERVE_MAX do
    local waiter = headOfLine()
    if not waiter then return end
    local found = readWaiter(waiter)
    if found and found.deadlineMs > nowMs and unseenFor(found.process) <= DEAD_MS then return end
    dismiss(waiter, found)
  end
end

-- The lease that was handed to a waiter, confirmed to stand for its whole time: lease, when it expires, selections of the
-- member, and its record. Nil when nothing was, or the two seconds have passed, or the member is gone.
local function confirm(waiter)
  local lease = redis.call('HGET', notes, 'g' .. waiter)
  if not lease then return nil end
  local expiresMs = tonumber(redis.call('ZSCORE', leases, lease) or nil)
  local record = redis.call('HGET', members, memberOf(lease))
  if not expiresMs then return nil end
  if expiresMs <= nowMs or not record then
    settle(lease, expiresMs <= nowMs and 'e' or 'a')
    return nil
  end
  local ttlMs = readWaiter(waiter).ttlMs
  redis.call('ZADD', leases, nowMs + ttlMs, lease)
  redis.call('HDEL', notes, 'g' .. waiter, 'w' .. waiter)
  return lease, nowMs + ttlMs, tonumber(redis.call('HGET', counts, memberOf(lease)) or 0), record
end

-- The live lease that a repeat of a request finds, in the same form; nil when there is none.
local function leaseOf(requestId)
  local lease = requestId ~= '' and string.match(redis.call('HGET', notes, 'r' .. requestId) or '', '^%S+ ([^~].*)$')
  local expiresMs = lease and tonumber(redis.call('ZSCORE', leases, lease) or nil)
  local record = expiresMs and expiresMs > nowMs and redis.call('HGET', members, memberOf(lease))
  if not record then return nil end
  return lease, expiresMs, tonumber(redis.call('HGET', counts, memberOf(lease)) or 0), record
end
