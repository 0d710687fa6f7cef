--[[
  Read members as they stand.

  ARGV[1]   strategy  the one the caller composed this script for
  ARGV[2..]           ids
  Returns  {'STALE' | 'MOVING'}, or {'', then five for each id: record ('' when there is no such member), assigned, in-flight,
           reason ('-' for eligible), returnsAt in ms ('-' for none)}
  Time     O(n) for n ids
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@index index
local strategy = ARGV[1]

local refusal = outdated(strategy)
if refusal then return { refusal } end

local reply = { '' }
for at = 2, #ARGV do
  local text = redis.call('HGET', members, ARGV[at])
  if text then
    local _, assigned, inFlight, reason, returnsAt = standingOf(index, ARGV[at], readRecord(text))
    reply[#reply + 1] = text
    reply[#reply + 1] = assigned
    reply[#reply + 1] = inFlight
    reply[#reply + 1] = reason
    reply[#reply + 1] = returnsAt
  else
    for _ = 1, 5 do reply[#reply + 1] = '' end
  end
end
return reply
