--[[
  Pick eligible members that a request is content with, `count` times in a row, as the strategy orders them, and count the picks.
  For all strategies that only pick. What is rare is left to select.lua: to say why there is nobody, members on trial, and those
  that are to be raised.

  KEYS[1]  settings     hash
  KEYS[2]  members      hash    member id -> record
  KEYS[3]  assigned     string  how many selections the pool has made
  KEYS[4]  views        zset    see views.lua
  KEYS[5]  sessions     hash    see sessions.lua, as for the next; not read where there is no session
  KEYS[6]  sessionEnds  zset
  KEYS[7]  bans         zset    member that is banned for the target -> until when, in ms; not read where there is no target
  KEYS[8]  cursors      hash    see narrow.lua; likewise
  The keys of the index, see counted-pick.lua and ranked-pick.lua, follow from KEYS[9] on.
  ARGV[1]  strategy     the one the caller composed this script for
  ARGV[2]  count        1 to 1000
  ARGV[3]  filter       as the settings name it, '' for none
  ARGV[4]  view         of that filter, '' for the whole pool
  ARGV[5]  hasTarget    '1' or ''
  ARGV[6]  session      '' for none
  ARGV[7..]             ids that are not to be picked
  Returns  {'STALE'}, or {'', the lines id, count, record for each pick, why there are no more: '' when all were made, 'MORE': call
           again for the rest, or 'ASK' | 'TRIAL' | 'NONE': ask select.lua for it}
  Ties     as the strategy has them
  Time     O(k log N) for k picks; of those passed over for a target each is passed over once
]]
--@include include/stride.lua
--@include include/views.lua
--@index picking 9
local settings, members, assigned, views = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sessions, sessionEnds, bans, cursors = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local strategy, count, filter, session = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[6]
local request = { view = ARGV[4], hasTarget = ARGV[5] == '1', excluded = {}, isWide = ARGV[5] == '1' or #ARGV > 6 }

local isPlain = not request.isWide and session == ''
local known = isPlain and redis.call('HMGET', settings, 'strategy', 'leaving', 'ready')
  or redis.call('HMGET', settings, 'strategy', 'leaving', 'ready', 'restore', 'descents', 'sessionTtlMs')
if known[1] ~= strategy or known[2] then return { 'STALE' } end
if filter ~= '' and not string.find('\n' .. (known[3] or '') .. '\n', '\n' .. filter .. '\n', 1, true) then return { 'STALE' } end

local nextFit, keep, tryOut, look

-- The first of the view, or of the whole pool: id and rank.
local function head()
  if request.view == '' then
    local first = redis.call('ZRANGE', picking.ranks, 0, 0, 'WITHSCORES')
    return first[1], tonumber(first[2])
  end
  local entry = redis.call('ZRANGEBYLEX', views, '[' .. request.view, '(' .. request.view .. FULL, 'LIMIT', 0, 1)[1]
  if not entry then return nil end
  return string.sub(entry, VIEW + picking.rankLength + 1), tonumber(string.sub(entry, VIEW + 1, VIEW + picking.rankLength))
end

-- Most requests get who stands first: those for labels alone, and those for a target of which nobody has been passed over yet.
local cursorText = request.hasTarget and redis.call('HGET', cursors, request.view)
local first, firstRank
if session == '' and #ARGV == 6 and not (request.hasTarget and (count > 1 or cursorText)) then
  first, firstRank = head()
  if request.hasTarget and first and redis.call('ZSCORE', bans, first) then first = nil end
end

if first or isPlain then
  nextFit = function()
    local id, rank = first, firstRank
    first = nil
    if not id then id, rank = head() end
    if not id then return nil, 'NONE' end
    return id, rank
  end
else
  local time = redis.call('TIME')
  local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
  local pool, ranks, sessionTtlMs = { descents = known[5] }, picking.ranks, tonumber(known[6])
  local isLevelling = known[4] == 'level' and picking.isLevelled
  local function raise() return false end
  for at = 7, #ARGV do request.excluded[ARGV[at]] = true end
--@include include/descents.lua
--@include include/narrow.lua
--@include include/sessions.lua
--@include include/narrowed-find.lua
end
--@include include/narrowed-picks.lua
if look then look.stop() end
return { '', table.concat(lines, '\n'), why }
