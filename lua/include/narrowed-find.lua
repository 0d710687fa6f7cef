--[[
  Finds who is next for a request: the member of its session, if it may still be picked, or else the next in the strategy's order.

  Needs  narrow.lua, sessions.lua, `picking`, `members`, `request`, `session`, `sessionTtlMs`, `cursorText`; sets `look`, `nextFit` and `keep`
]]
look = lookFor(request, cursorText)
nextFit = function()
  local id = session ~= '' and memberOfSession(session)
  local rank = id and tonumber(redis.call('ZSCORE', ranks, id) or nil)
  if rank and isFit(request, id, redis.call('HGET', members, id)) then return id, rank end
  return look.next()
end
keep = function(id) keepSession(session, id, sessionTtlMs) end
