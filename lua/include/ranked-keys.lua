--[[
  What the scripts of strategies that rank members take, in this order.

  KEYS[1]  ranks     zset    member id -> rank, the lowest being next
  KEYS[2]  counts    hash    member id -> how often it was selected
  KEYS[3]  members   hash    member id -> record
  KEYS[4]  assigned  string  how many selections the pool has made
  KEYS[5]  settings  hash    read only when there is nothing to pick
  KEYS[6]  eligible  zset    likewise
  KEYS[7]  withdrawn zset    likewise
  KEYS[8]  views     zset    see views.lua; only of members whose record names some
  ARGV[1]  strategy  the one the caller believes the pool to have
  ARGV[2]  count     1 to 1000
]]
local ranks, counts, members, assigned = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local settings, eligible, withdrawn, views = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local strategy, count = ARGV[1], tonumber(ARGV[2])
