--[[
  Say when a pool that was taken from the index of what is due is due again. One that somebody else has taken since is theirs.

  KEYS[1]  due    zset  see claim.lua
  ARGV[1]  pool
  ARGV[2]  claim  the score of the claim
  ARGV[3]  next   in ms, or -1 for never
  Returns  1 when it was still ours, 0 when not
]]
local due = KEYS[1]
local pool, claim, next = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

if tonumber(redis.call('ZSCORE', due, pool) or nil) ~= claim then return 0 end
if next < 0 then
  redis.call('ZREM', due, pool)
else
  redis.call('ZADD', due, next, pool)
end
return 1
