--[[
  Create a pool or change its settings. Safe to repeat.
  A change between two strategies that keep the same kind of index hands the index over at once; any other one leaves
  the old strategy's name in the field `leaving`, and move.lua carries the members across in steps.

  KEYS[1]  settings  hash
  KEYS[2]  oldIndex  zset  the first key of the index that the pool has
  KEYS[3]  newIndex  zset  the first key of the index that it is to have
  KEYS[4]  leases    zset  live leases: while there are any, the strategy stays
  KEYS[5]  queue     zset  those who wait for one, likewise
  ARGV[1]  expected  the strategy that the caller believes the pool to have, '' for no pool
  ARGV[2]  strategy  the one it is to have
  ARGV[3]  sameKind  '1' when both indexes are of one kind
  ARGV[4]  ruled     fingerprint of the rules that the caller believes the pool to have, '' for none
  ARGV[5]  rules     fingerprint of those that it is to have: if they are others, its members are to be judged
  ARGV[6]  filters   that it is to declare, one a line; of those whose views are whole now the others are not to be used any more
  ARGV[7..]          field, value, ... of the settings to write
  Returns  'CREATED' | 'CHANGED', or 'STALE' | 'MOVING' | 'BUSY'
  Time     O(1)
]]
--@include include/descents.lua
local settings, oldIndex, newIndex = KEYS[1], KEYS[2], KEYS[3]
local leases, queue = KEYS[4], KEYS[5]
local expected, strategy, sameKind = ARGV[1], ARGV[2], ARGV[3] == '1'
local ruled, rules, filters = ARGV[4], ARGV[5], ARGV[6]

local found = redis.call('HMGET', settings, 'strategy', 'leaving', 'rules', 'ready', 'descents')
if (found[1] or '') ~= expected or (found[3] or '') ~= ruled then return 'STALE' end
if found[2] then return 'MOVING' end

if found[1] and expected ~= strategy then
  if redis.call('EXISTS', leases, queue) > 0 then return 'BUSY' end
  if found[5] then redis.call('HSET', settings, 'descents', withNewRanks(found[5])) end
  if not sameKind then
    redis.call('HSET', settings, 'leaving', expected)
  elseif redis.call('EXISTS', oldIndex) == 1 then
    redis.call('RENAME', oldIndex, newIndex)
  end
end
redis.call('HSET', settings, 'strategy', strategy, unpack(ARGV, 7))
if rules ~= ruled then
  local ready = {}
  for filter in string.gmatch(found[4] or '', '[^\n]+') do
    if string.find('\n' .. filters .. '\n', '\n' .. filter .. '\n', 1, true) then ready[#ready + 1] = filter end
  end
  redis.call('HSET', settings, 'rules', rules, 'judging', '', 'filters', filters, 'ready', table.concat(ready, '\n'))
end
return found[1] and 'CHANGED' or 'CREATED'
