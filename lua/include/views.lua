--[[
  Views: for every filter that the pool declares, the members with the same values of its labels, in the order in which the
  strategy picks. All views of a pool are one sorted set, in the order of bytes, so that its keys are few and known:

    views  zset, all scores 0  <name of the view><rank as text><member id>

  A member is in its views exactly while it may be picked, at the rank that it has there. Its record names them, so that whoever
  changes the rank knows what to change with it.
]]
-- A name is 11 characters of a hash, see view.names.ts.
local VIEW = 11

-- The views that a record names.
local function viewsIn(record)
  return string.match(record, '([^\n!]*)$')
end

-- Moves a member in the views from one rank to another, given as texts; nil where it is not to be picked.
local function moveInViews(views, id, oldViews, oldRank, newViews, newRank)
  if oldRank and oldViews ~= '' then
    local gone = {}
    for at = 1, #oldViews, VIEW do gone[#gone + 1] = string.sub(oldViews, at, at + VIEW - 1) .. oldRank .. id end
    redis.call('ZREM', views, unpack(gone))
  end
  if newRank and newViews ~= '' then
    local come = {}
    for at = 1, #newViews, VIEW do
      come[#come + 1] = 0
      come[#come + 1] = string.sub(newViews, at, at + VIEW - 1) .. newRank .. id
    end
    redis.call('ZADD', views, unpack(come))
  end
end

-- Its entries of a view from one bound on: rank as text and id, one after the other.
local function readView(views, name, from, most)
  local ranks, ids = {}, {}
  for n, entry in ipairs(redis.call('ZRANGEBYLEX', views, from, '(' .. name .. '\255', 'LIMIT', 0, most)) do
    ranks[n], ids[n] = string.sub(entry, VIEW + 1, VIEW + RANK), string.sub(entry, VIEW + RANK + 1)
  end
  return ids, ranks
end
