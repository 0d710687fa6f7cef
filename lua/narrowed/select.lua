--[[
  Pick eligible members that a request is content with, `count` times in a row, as the strategy orders them, and count the picks.
  For all strategies that only pick, each by its index. Members on trial are withdrawn by the pick, until its outcome is known.

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
local assigned, sessions, sessionEnds, bans, cursors = unpack(KEYS, #KEYS - 4)
local strategy, count, mayTry = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local filter, session = ARGV[4], ARGV[7]
local request = { view = ARGV[5], hasTarget = ARGV[6] == '1', excluded = {}, isWide = ARGV[6] == '1' or #ARGV > 7 }
for at = 8, #ARGV do request.excluded[ARGV[at]] = true end

local found = redis.call('HMGET', settings, 'strategy', 'leaving', 'ready', 'restore', 'descents', 'sessionTtlMs', 'health')
if found[1] ~= strategy then return { 'STALE' } end
if found[2] then return { 'MOVING' } end
if filter ~= '' and not string.find('\n' .. (found[3] or '') .. '\n', '\n' .. filter .. '\n', 1, true) then return { 'STALE' } end
local pool = { descents = found[5] }
local ranks = index.ranks

-- Raises a member, in the index and in its views, to a rank.
local raise = found[4] == 'level' and index.isLevelled and function(id, rank)
  local record = readRecord(redis.call('HGET', members, id))
  local before, _, memberAssigned = index.viewRank(id), index.standing(id, record)
  index.enter(id, record, rank, memberAssigned, record.weight)
  moveInViews(views, id, record.views, before, record.views, index.viewRank(id))
  keepRecord(id, record)
end
--@include include/narrow.lua
--@include include/sessions.lua

-- Withdraws a member on trial, for as long as its first cooldown, unless an outcome comes before.
local function tryOut(id, record)
  local facts, was = readFacts(id), asItWas(record, '-')
  local score, memberAssigned = index.standing(id, record)
  local health = cjson.decode(found[7] and found[7] ~= '' and found[7] or '{}')
  facts.coolingUntil = nowMs + (health.cooldownMs or 0)
  facts.evidence = 'on trial'
  reconsider(index, id, record, facts, was, score, memberAssigned)
end

local lines = {}
local function pick(id, rank, text, record)
  local sequence = redis.call('INCR', assigned)
  local newRank, selections = index.take(id, record, rank, sequence)
  if record.views ~= '' then
    moveInViews(views, id, record.views, index.rankText(rank), record.views, index.rankText(newRank))
  end
  local at = #lines
  lines[at + 1], lines[at + 2], lines[at + 3] = id, string.format('%.0f', selections), text
  if record.isOnTrial then tryOut(id, record) end
end

local look = lookFor(request)

-- The member of the session, if it may still be picked; or else the next in the strategy's order: id, rank and record.
local function find()
  local id = session ~= '' and memberOfSession(session)
  local rank = id and index.rankOf(id)
  local text = rank and redis.call('HGET', members, id)
  if text and isFit(request, id, readRecord(text)) then return id, rank, text end
  local hasMore
  id, rank = look.next()
  if not id then return nil, rank and 'MORE' or nil end
  return id, rank, redis.call('HGET', members, id)
end

local made, why = 0, ''
while made < count do
  local id, rank, text = find()
  local record = id and readRecord(text)
  if not id then
    why = rank or 'NONE'
    break
  end
  if record.isOnTrial and not mayTry then
    why = 'TRIAL'
    break
  end
  pick(id, rank, text, record)
  if session ~= '' then keepSession(session, id, tonumber(found[6])) end
  made = made + 1
end
look.stop()
if why ~= 'NONE' then return { '', table.concat(lines, '\n'), why, -1 } end
--@include include/why-nobody.lua
local reason, retryAfterMs = whyNobody(request, filter ~= '' or request.isWide)
if not reason then return { 'STALE' } end
return { '', table.concat(lines, '\n'), reason, retryAfterMs }
