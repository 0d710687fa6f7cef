--[[
  Ids of members in some states, read at one moment: a member that changes its state meanwhile stands in exactly one of them.

  KEYS[1..]       zsets  ids, all scores 0
  ARGV[1]   from  where to begin, as ZRANGEBYLEX takes it
  ARGV[2]   most  ids of each
  Returns  the ids of each zset in the order of their bytes
  Time     O(n + log N) for n ids
]]
local from, most = ARGV[1], ARGV[2]

local reply = {}
for at = 1, #KEYS do reply[at] = redis.call('ZRANGEBYLEX', KEYS[at], from, '+', 'LIMIT', 0, most) end
return reply
