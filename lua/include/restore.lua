--[[
  The score that a member gets on becoming eligible.

  level  at least the lowest among the eligible members, so that whoever was away does not take everybody's next picks
  keep   its own
  reset  zero
]]
local function restoredScore(index, policy, own)
  if policy == 'keep' then return own end
  if policy == 'reset' then return 0 end
  local lowest = index.lowest()
  return lowest and math.max(own, lowest) or own
end
