--[[
  Makes the picks of a narrowed request, one after the other, as far as it can: `made` of them, in `lines`, and why no more.

  Needs  views.lua, and `picking`, `request`, `session`, `count`, `members`, `assigned`, `views`, `nextFit()`, `keep(id)` which notes the
         member of the session, and `tryOut(id, text)` for one on trial, which says whether it was picked, or nil where that
         cannot be done here
]]
local lines, made, why = {}, 0, ''

local function pick(id, rank, text)
  local weight = tonumber(string.match(text, '^%d+'))
  local newRank, selections = picking.take(id, weight, rank, redis.call('INCR', assigned))
  local inViews = viewsIn(text)
  if inViews ~= '' then moveInViews(views, id, inViews, picking.rankText(rank), inViews, picking.rankText(newRank)) end
  local at = #lines
  lines[at + 1], lines[at + 2], lines[at + 3] = id, string.format('%.0f', selections), text
  made = made + 1
end

while made < count do
  local id, found = nextFit()
  if not id then
    why = found
    break
  end
  local text = redis.call('HGET', members, id)
  if isOnTrial(text) and not tryOut then
    why = 'TRIAL'
    break
  end
  pick(id, found, text)
  if session ~= '' then keep(id) end
  if isOnTrial(text) then tryOut(id, text) end
end
