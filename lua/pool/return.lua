--[[
  Let members return whose cooldown has ended, those first that ended first, under the pool's restore policy. One bounded step; safe
  to repeat.

  ARGV[1]  strategy  the one the caller composed this script for
  ARGV[2]  most      members at once
  Returns  {'', more: 1 when there are more to return now, next: when the next cooldown ends, in ms, or -1 for none},
           or {'STALE' | 'MOVING'}
  Time     O(n log N) for n members
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@include include/facts.lua
--@index index
--@include include/returning.lua
local strategy, most = ARGV[1], tonumber(ARGV[2])

local refusal = outdated(strategy)
if refusal then return { refusal } end

local count = letReturn(most)
local first = redis.call('ZRANGE', returns, 0, 0, 'WITHSCORES')
return { '', count == most and 1 or 0, first[2] and tonumber(first[2]) or -1 }
