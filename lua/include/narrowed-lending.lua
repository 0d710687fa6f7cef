--[[
  How a request finds a member to borrow that is content with some of them only: the member of its session, or the first that fits.

  Needs  stride.lua, load.lua, lease-keys.lua, lease-views.lua, lend.lua, and `request`, `session`, `sessions`, `sessionEnds`, `bans`,
         `cursors`
]]
local picking = { rankText = rankText, rankLength = 16 }
local ranks, isLevelling, raise = ready, false, nil
--@include include/narrow.lua
--@include include/sessions.lua
local look = lookFor(request)
-- The member of the session: as lend takes it, or 'FULL' where it is eligible and has no room; nil where another is to be found.
local function memberOfTheSession()
  local id = session ~= '' and memberOfSession(session)
  local record = id and redis.call('HGET', members, id)
  if not record or not isFit(request, id, record) then return nil end
  local score = tonumber(redis.call('ZSCORE', ready, id) or nil)
  if score then return memberWithRoom(id, score) or 'FULL' end
  return redis.call('ZSCORE', full, id) and 'FULL' or nil
end

-- A member as lend takes it; or nil, and why: 'MORE' when there is more to look at by another call, 'FULL' or 'NONE'.
local function findMember()
  local member = memberOfTheSession()
  if member == 'FULL' then return nil, 'FULL' end
  if member then return member end
  for _ = 1, PARK_MAX do
    local id, score = look.next()
    if not id then return nil, score end
    member = memberWithRoom(id, score)
    if member then return member end
  end
  return nil, 'MORE'
end
