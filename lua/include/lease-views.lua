--[[
  What a change of a member's load means for the views that it is in, see views.lua.

  Needs  stride.lua, lease-keys.lua
]]
--@include include/views.lua
local FULL_RANK = string.rep(FULL, 16)

-- Moves a member in its views from one score among those that are ready to another; nil where it is at its capacity.
local function shift(id, before, after)
  if not pool.hasViews then return end
  local inViews = viewsIn(redis.call('HGET', members, id) or '')
  moveInViews(views, id, inViews, before and rankText(before) or FULL_RANK, inViews, after and rankText(after) or FULL_RANK)
end
