--[[
  What the scripts of strategies that rank members take, in this order.

  KEYS[1]  ranks     zset    member id -> rank, the lowest being next
  KEYS[2]  counts    hash    member id -> how often it was selected
  KEYS[3]  members   hash    member id -> record
  KEYS[4]  assigned  string  how many selections the pool has made
  KEYS[5]  views     zset    see views.lua; only of members whose record names some
  ARGV[1]  count     1 to 1000
]]
local ranks, counts, members, assigned, views = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local count = tonumber(ARGV[1])
