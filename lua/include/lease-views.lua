--[[
  What a change of a member's load means beyond it: for the views that the member is in, see views.lua, and for those who look for a
  member from a place on, see descents.lua.

  Needs  stride.lua, lease-keys.lua
]]
--@include include/views.lua
--@include include/descents.lua
local FULL_RANK = string.rep(FULL, 16)

-- Notes that a member has come to stand at that score among those that are ready.
local function noteReady(score)
  local noted = pool.descents and withDescent(pool.descents, score)
  if noted == pool.descents then return end
  pool.descents = noted
  redis.call('HSET', settings, 'descents', noted)
end

-- Tells of a member that went from one score among those that are ready to another; nil where it is at its capacity.
local function shift(id, before, after)
  if after and not (before and before < after) then noteReady(after) end
  if not pool.hasViews then return end
  local inViews = viewsIn(redis.call('HGET', members, id) or '')
  moveInViews(views, id, inViews, before and rankText(before) or FULL_RANK, inViews, after and rankText(after) or FULL_RANK)
end
