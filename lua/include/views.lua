--[[
  Views: for every filter that the pool declares, the members with the same values of its labels, in the order in which the
  strategy picks. All views of a pool are one sorted set, in the order of bytes, so that its keys are few and known:

    views  zset, all scores 0  <name of the view><rank as text><member id>

  A member is in its views exactly while it is eligible, at the rank that it has. Its record names them, so that whoever
  changes the rank knows what to change with it.
]]
-- A name is 11 characters of a hash, see view.names.ts.
local VIEW = 11
-- Stands for the rank of a member that is at its capacity, behind all others.
local FULL = '~'

-- The views that a record names.
local function viewsIn(record)
  return string.match(record, '([^\n!]*)$')
end

-- Whether a record is that of a member on trial.
local function isOnTrial(record)
  return string.find(record, '\n![^\n]*$') ~= nil
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
