--[[
  The same as pick.lua, by all that bears on a member's state, and with what pick.lua leaves: it says why there is nobody, raises
  members, and withdraws those on trial, that are picked, until an outcome is known.

  KEYS[14..]  those of the index, and behind them
    assigned     string  how many selections the pool has made
    sessions     hash    see sessions.lua, as for the next
    sessionEnds  zset
    bans         zset    member that is banned for the target -> until when, in ms; not read where there is no target
    cursors      hash    see narrow.lua; likewise
  ARGV[1]  strategy   the one the caller composed this script for
  ARGV[2]  count      1 to 1000
  ARGV[3]  mayTry     '1': whoever withdraws a member on trial has seen to it that somebody looks at the pool when it is to return
  ARGV[4]  filter     as the settings name it, '' for none
  ARGV[5]  view       of that filter, '' for the whole pool
  ARGV[6]  hasTarget  '1' or ''
  ARGV[7]  session    '' for none
  ARGV[8..]           ids that are not to be picked
  Returns  {'STALE' | 'MOVING'}, or {'', the lines id, count, record for each pick, why there are no more: '' when all were made,
           'MORE': call again for the rest, 'TRIAL': call again with mayTry, or a reason; retryAfterMs, -1 for nothing known}
  Ties     as the strategy has them
  Time     O(k log N) for k picks; of those passed over for a target each is passed over once
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@include include/facts.lua
--@index index
--@index picking 14
local assigned, sessions, sessionEnds, bans, cursors = unpack(KEYS, #KEYS - 4)
local RETURN_IN_PASSING = 16
local strategy, count, mayTry = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local filter, session = ARGV[4], ARGV[7]
local request = { view = ARGV[5], hasTarget = ARGV[6] == '1', excluded = {}, isWide = ARGV[6] == '1' or #ARGV > 7 }
for at = 8, #ARGV do request.excluded[ARGV[at]] = true end

local found = redis.call('HMGET', settings, 'strategy', 'leaving', 'ready', 'restore', 'descents', 'sessionTtlMs', 'health')
if found[1] ~= strategy then return { 'STALE' } end
if found[2] then return { 'MOVING' } end
if filter ~= '' and not string.find('\n' .. (found[3] or '') .. '\n', '\n' .. filter .. '\n', 1, true) then return { 'STALE' } end
local pool, sessionTtlMs = { descents = found[5] }, tonumber(found[6])
local ranks, isLevelling = picking.ranks, found[4] == 'level' and picking.isLevelled

-- Raises a member, in the index and in its views, to a rank.
local function raise(id, rank)
  local record = readRecord(redis.call('HGET', members, id))
  local before, _, memberAssigned = index.viewRank(id), index.standing(id, record)
  index.enter(id, record, rank, memberAssigned, record.weight)
  moveInViews(views, id, record.views, before, record.views, index.viewRank(id))
  keepRecord(id, record)
  return true
end
--@include include/narrow.lua
--@include include/sessions.lua
local look, nextFit, keep, cursorText
--@include include/narrowed-find.lua

-- Withdraws a member on trial, for as long as its first cooldown, unless an outcome comes before.
local tryOut = mayTry and function(id)
  local record, facts = readRecord(redis.call('HGET', members, id)), readFacts(id)
  local score, memberAssigned = index.standing(id, record)
  local health = cjson.decode(found[7] and found[7] ~= '' and found[7] or '{}')
  facts.coolingUntil = nowMs + (health.cooldownMs or 0)
  facts.evidence = 'on trial'
  reconsider(index, id, record, facts, asItWas(record, '-'), score, memberAssigned)
end
--@include include/narrowed-picks.lua
look.stop()
--@include include/returning.lua
-- Whose cooldown has ended returns in passing, before anybody is told that there is nobody.
if why == 'NONE' and letReturn(RETURN_IN_PASSING) > 0 then why = 'MORE' end
if why ~= 'NONE' then return { '', table.concat(lines, '\n'), why, -1 } end
--@include include/why-nobody.lua
local reason, retryAfterMs = whyNobody(request, filter ~= '' or request.isWide)
if not reason then return { 'STALE' } end
return { '', table.concat(lines, '\n'), reason, retryAfterMs }
