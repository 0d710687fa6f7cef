--[[
  Ban members for one target; for all others they are what they were. What is kept of a target is gone by itself when it has had no
  ban for a while.

  KEYS[1]  settings  hash
  KEYS[2]  members   hash  member id -> record
  KEYS[3]  targets   zset  target that has bans -> when it is forgotten, in ms
  KEYS[4]  bans      zset  banned member -> until when, in ms
  KEYS[5]  cursors   hash  see narrow.lua
  ARGV[1]  target
  ARGV[2]  keepMs    how long a target is kept after its last ban has ended: by then a pick has met those who are back
  ARGV[3..]          ids
  Returns  {'NO_POOL'}, or {'', and for each id until when it is banned, in ms, '' where there is no such member}
  Time     O(n log N) for n ids
]]
local settings, members, targets, bans, cursors = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local target, keepMs = ARGV[1], tonumber(ARGV[2])
-- How many targets that are forgotten are taken out in passing. Bans that have ended are for the picks to take out, see narrow.lua.
local IN_PASSING = 100

local banMs = redis.call('HGET', settings, 'banMs')
if not banMs then return { 'NO_POOL' } end
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local untilMs = string.format('%.0f', nowMs + banMs)

local reply = { '' }
for at = 3, #ARGV do
  reply[at - 1] = ''
  if redis.call('HEXISTS', members, ARGV[at]) == 1 then
    redis.call('ZADD', bans, 'GT', untilMs, ARGV[at])
    reply[at - 1] = redis.call('ZSCORE', bans, ARGV[at])
  end
end
if redis.call('EXISTS', bans) == 0 then return reply end

local forgotten = redis.call('ZRANGEBYSCORE', targets, '-inf', nowMs, 'LIMIT', 0, IN_PASSING)
if #forgotten > 0 then redis.call('ZREM', targets, unpack(forgotten)) end
local last = redis.call('ZRANGE', bans, -1, -1, 'WITHSCORES')
local forgottenMs = (tonumber(last[2]) or nowMs) + keepMs
redis.call('PEXPIREAT', bans, string.format('%.0f', forgottenMs))
redis.call('PEXPIREAT', cursors, string.format('%.0f', forgottenMs))
redis.call('ZADD', targets, string.format('%.0f', forgottenMs), target)
redis.call('PEXPIREAT', targets, string.format('%.0f', tonumber(redis.call('ZRANGE', targets, -1, -1, 'WITHSCORES')[2])))
return reply
