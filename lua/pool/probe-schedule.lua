--[[
  Make one step of a pool's candidates and unhealthy members due for a probe now. Safe to repeat.

  KEYS[1]  withdrawn  zset  ids of the members that are not eligible, all scores 0
  KEYS[2]  probes     zset  id of a candidate or unhealthy member -> when it is to be probed, in ms
  KEYS[3]  probing    zset  <claim> <member id> -> when the claim ends, in ms
  ARGV[1]  after      the last id of the step before, '' for the first
  ARGV[2]  step       how many members at most
  ARGV[3]  anew       '1': also those that are being probed now, whose results then do not count
  Returns  {the last id of this step, '' when there are no more, how many are due now}
  Time     O(n log N) for a step of n members
]]
local withdrawn, probes, probing = KEYS[1], KEYS[2], KEYS[3]
local after, step, anew = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local first = after == '' and '-' or '(' .. after
local ids = redis.call('ZRANGEBYLEX', withdrawn, first, '+', 'LIMIT', 0, step)
if #ids == 0 then return { '', 0 } end

local count = 0
for n, due in ipairs(redis.call('ZMSCORE', probes, unpack(ids))) do
  if due then
    local isBeingProbed = redis.call('ZSCORE', probing, string.format('%.0f', tonumber(due)) .. ' ' .. ids[n])
    if anew or not isBeingProbed then
      count = count + 1
      if tonumber(due) > nowMs then redis.call('ZADD', probes, nowMs, ids[n]) end
    end
  end
end
return { #ids == step and ids[#ids] or '', count }
