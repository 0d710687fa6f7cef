--[[
  The score that a member gets on becoming eligible.

  level  at least the lowest among the eligible members, in the pool and in each view that it is to be in, so that whoever was away
         does not take everybody's next picks
  keep   its own
  reset  zero

  Needs  catalogue.lua
]]
local function restoredScore(index, policy, own, record)
  if policy == 'keep' then return own end
  if policy == 'reset' then return 0 end
  local level = index.lowest()
  if not level then return own end
  for at = 1, #record.views, VIEW do
    local name = string.sub(record.views, at, at + VIEW - 1)
    local first = redis.call('ZRANGEBYLEX', views, '[' .. name, '(' .. name .. '\255', 'LIMIT', 0, 1)[1]
    if first then level = math.max(level, tonumber(string.sub(first, VIEW + 1, VIEW + index.rankLength))) end
  end
  return math.max(own, level)
end
