--[[
  The keys that every script about leases takes, in this order, the server's clock, and the pool's settings and counters.

  KEYS[1]   settings  hash    the pool's settings, and what its scripts keep: fence, sequence, due, waiting, endedSince, reseat
  KEYS[2]   members   hash    member id -> record (see member-record.lua)
  KEYS[3]   leases    zset    lease -> when it expires, in ms
  KEYS[4]   ended     set     the first 22 characters of an ended lease, or ? and a requestId, and the letter of how it ended
  KEYS[5]   endedOld  set     the same, of a while ago
  KEYS[6]   notes     hash    what only some leases have, and waiters; by the first character of the field:
                              m lease token -> requestId, line feed, owner, and, where it was for a target,
                                line feed, target
                              r requestId -> body hash, lease or ~waiter
                              w waiter -> see waiters.lua     g waiter -> its lease
                              A waiter's name is the token of the lease that it will get.
  KEYS[7]   queue     zset    waiter -> ticket
  KEYS[8]   seen      zset    process that waits -> when it was last seen, in ms
  KEYS[9]   ready     zset    see leased-index.lua, also for the rest
  KEYS[10]  full      zset
  KEYS[11]  away      zset
  KEYS[12]  counts    hash
  KEYS[13]  views     zset    see views.lua, and waiters.lua

  A lease is named <22 characters of a random token><. or, where it has notes, ~><fence in hex>.<member id>
  Ways to end: c completed, a abandoned, e expired, f by force

  What its scripts keep of a pool
    fence       of the latest lease or ticket; sequence: how many leases were made, for the ties
    due         no lease expires before that, and somebody looks at the pool by then; absent while there is none
    waiting     '1' while somebody stands in line
    endedSince  when the set of ended leases was begun
    reseat      see tick.lua
]]
local settings, members, leases, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local endedOld, notes, queue, seen = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local ready, full, away, counts, views = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]

local TOKEN = 22
-- How many expired leases a script settles in passing.
local SETTLE_IN_PASSING = 16

local time = redis.call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local nowMs = math.floor(nowUs / 1000)

local found = redis.call('HMGET', settings, 'strategy', 'capacity', 'limit', 'leaseTtlMs', 'leaseMaxTtlMs',
  'fence', 'sequence', 'due', 'waiting', 'endedSince', 'filters', 'judging', 'descents')
local pool = {
  strategy = found[1], capacity = found[2], limit = tonumber(found[3]),
  ttlMs = tonumber(found[4]), maxTtlMs = tonumber(found[5]),
  fence = tonumber(found[6]) or 0, sequence = tonumber(found[7]) or 0,
  due = tonumber(found[8]), waiting = found[9], endedSince = tonumber(found[10]),
  hasViews = found[12] or found[11] and found[11] ~= '', descents = found[13],
}

-- Whether a lease may have expired by now that nobody has settled.
local function mayHaveExpired()
  return pool.due and pool.due <= nowMs
end
