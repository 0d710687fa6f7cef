--[[
  Who comes next among the members that a request is content with: those of a view, not excluded, not banned for a target.

  Looking through members in the order of the strategy costs what it passes over. Those that a caller excludes are few. Those banned
  for a target may be many, and where most picks are for that target they gather in front of all others, since nobody picks
  them. So each target has a cursor for each view (and one, '', for the whole pool): up to its place all members are banned.
  A pick begins there, or where anybody has moved down to since (descents.lua), and takes the cursor along: what it passes over
  it passes over once. A cursor is a hint that is always true; nothing is kept for a target beyond its bans and its cursors.

    cursors  hash  view -> "<generation> <level, or -> <rank> <member id>"

  Bans end without anybody moving. Those that have ended stay in `bans` until a pick has met them. Of a few members that stand before
  the cursor each is handed out or raised in its turn, so that nobody has to look back; others are noted as if they had moved there.

  `level`, where the strategy levels members, is the rank at which the latest pick for the target was made. Whoever is found below it
  has come since: out of a cooldown, a ban that ended, or new. Under the restore policy `level` such a member is raised to it.

  Needs  views.lua, descents.lua, `picking`, `ranks` (its sorted set), `views`, `bans`, `cursors`, `settings`, `pool` (its
         `descents`), `nowMs`, `isLevelling`: whether members are to be raised, and `raise(id, rank)`, which raises one, or says
         that this script cannot: then another is to be asked
]]
-- How many members one script looks at.
local LOOK_MAX = 4000
local WINDOW_MAX = 256
-- How many bans that have ended one script takes in, and how many members of them at most are handed out one by one.
local ENDED_MAX, EASED_MAX = 1000, 16

-- Members of the whole pool in their order, from the first behind a place on: ids, and each one's rank as text.
local function wholePool(place, lowest)
  local skipped, behind = 0, nil
  if lowest then
    skipped = redis.call('ZCOUNT', ranks, '-inf', string.format('(%.17g', lowest))
  elseif place then
    local at = redis.call('ZRANK', ranks, place.id)
    local here = at and redis.call('ZRANGE', ranks, at, at + 1, 'WITHSCORES')
    if here and tonumber(here[2]) == place.rank then
      skipped, behind = at + 1, { { here[3] }, { here[4] } }
    else
      skipped = redis.call('ZCOUNT', ranks, '-inf', string.format('(%.17g', place.rank))
    end
  end
  return {
    read = function(most)
      -- The first one behind the place has been read with it.
      if behind and most == 1 then
        local ids, rankOf = behind[1], behind[2]
        behind = nil
        return ids, rankOf
      end
      behind = nil
      local found, ids, rankOf = redis.call('ZRANGE', ranks, skipped, skipped + most - 1, 'WITHSCORES'), {}, {}
      for n = 1, #found / 2 do ids[n], rankOf[n] = found[n * 2 - 1], found[n * 2] end
      return ids, rankOf
    end,
    -- The next read begins behind so many.
    pass = function(count) skipped = skipped + count end,
  }
end

-- The same of a view.
local function wholeView(name, place, lowest)
  local from = '[' .. name
  if lowest then
    from = '[' .. name .. picking.rankText(math.max(lowest, 0))
  elseif place then
    from = '(' .. name .. picking.rankText(place.rank) .. place.id
  end
  local to, first, last = '(' .. name .. FULL, VIEW + 1, VIEW + picking.rankLength
  return {
    read = function(most)
      local ids, rankOf = {}, {}
      for n, entry in ipairs(redis.call('ZRANGEBYLEX', views, from, to, 'LIMIT', 0, most)) do
        rankOf[n], ids[n] = string.sub(entry, first, last), string.sub(entry, last + 1)
      end
      return ids, rankOf
    end,
    pass = function(_, id, rank) from = '(' .. name .. picking.rankText(rank) .. id end,
  }
end

-- `known` is the cursor's text where the caller has read it, false for none.
local function readCursor(view, known)
  local text = known
  if text == nil then text = redis.call('HGET', cursors, view) end
  if not text then return { isNew = true } end
  local generation, level, rank, id = string.match(text, '^(%S+) (%S+) (%S+) (.*)$')
  if lowestSince(pool.descents, tonumber(generation)) == false then return { isNew = true } end
  return { generation = tonumber(generation), level = tonumber(level), place = { rank = tonumber(rank), id = id } }
end

-- Where a look begins: at the cursor's place, or at the lowest rank that anybody has moved down to since.
local function sourceOf(view, cursor)
  local lowest = cursor.generation and lowestSince(pool.descents, cursor.generation) or nil
  if lowest and lowest > cursor.place.rank then lowest = nil end
  if view == '' then return wholePool(cursor.place, lowest) end
  return wholeView(view, cursor.place, lowest)
end

local function keepCursor(view, cursor)
  if not cursor.place then return end
  if cursor.hasMoved then
    pool.descents, cursor.generation = withGeneration(pool.descents)
    redis.call('HSET', settings, 'descents', pool.descents)
  elseif not cursor.hasLevelled then
    return
  end
  redis.call('HSET', cursors, view, string.format('%.0f %s %.17g ', cursor.generation,
    cursor.level and string.format('%.17g', cursor.level) or '-', cursor.place.rank) .. cursor.place.id)
  if cursor.isNew then
    local ttlMs = redis.call('PTTL', bans)
    if ttlMs > 0 then redis.call('PEXPIRE', cursors, ttlMs) end
  end
end

-- Tells everybody who looks from a place on that a member that is fit may stand before it.
local function noteFit(rank)
  local noted = withDescent(pool.descents, rank)
  if noted == pool.descents then return end
  pool.descents = noted
  redis.call('HSET', settings, 'descents', noted)
end

-- How many members stand before a place.
local function countBefore(place)
  local isThere = tonumber(redis.call('ZSCORE', ranks, place.id) or nil) == place.rank
  return isThere and redis.call('ZRANK', ranks, place.id) or redis.call('ZCOUNT', ranks, '-inf', string.format('(%.17g', place.rank))
end

-- Takes in bans that have ended: what it takes out of `bans` is noted. The members before a place, of which these are all, where they
-- are few, who stands first before the others: id and rank; they stay in `bans` until they are met. And whether there may be more.
local function takeInEnded(place)
  local ended = redis.call('ZRANGEBYSCORE', bans, '-inf', nowMs, 'LIMIT', 0, ENDED_MAX)
  if #ended == 0 then return {}, false end
  local before, others, lowest = {}, {}, nil
  local most = countBefore(place)
  for n, rankText in ipairs(redis.call('ZMSCORE', ranks, unpack(ended))) do
    local id, rank = ended[n], tonumber(rankText or nil)
    -- Ids are in the order of their bytes; Lua's own `<` follows the locale.
    local at = rank and rank <= place.rank and redis.call('ZRANK', ranks, id)
    if at and at < most then
      before[#before + 1] = { id = id, rank = rank, at = at }
    else
      -- Other views have other places.
      others[#others + 1] = id
      lowest = rank and math.min(lowest or rank, rank) or lowest
    end
  end
  table.sort(before, function(a, b) return a.at < b.at end)
  local mayBeMore = #ended == ENDED_MAX
  if mayBeMore or #before > EASED_MAX then
    before, others, lowest = {}, ended, before[1] and before[1].rank or lowest
  end
  if lowest then noteFit(lowest) end
  if others[1] then redis.call('ZREM', bans, unpack(others)) end
  return before, mayBeMore
end

-- Whether a member that may be picked, of which this is the record, is one that the request is content with.
local function isFit(request, id, record)
  if request.excluded[id] then return false end
  local bannedUntil = request.hasTarget and redis.call('ZSCORE', bans, id)
  if bannedUntil and tonumber(bannedUntil) > nowMs then return false end
  if request.view == '' then return true end
  local inViews = viewsIn(record)
  for at = 1, #inViews, VIEW do
    if string.sub(inViews, at, at + VIEW - 1) == request.view then return true end
  end
  return false
end

-- Looks for members one after the other, each fit for the request; what one look has passed over the next does not see again.
local function lookFor(request, known)
  local cursor = request.hasTarget and readCursor(request.view, known) or {}
  local source
  local looked, mayMove, excluded = 0, request.hasTarget, request.excluded

  -- So many of a window are passed over; the first of them, up to `banned`, are all banned.
  local function passOver(ids, rankOf, count, banned)
    if count == 0 then return end
    source.pass(count, ids[count], tonumber(rankOf[count]))
    if mayMove and banned > 0 then cursor.place, cursor.hasMoved = { rank = tonumber(rankOf[banned]), id = ids[banned] }, true end
    mayMove = mayMove and banned == count
  end

  -- Looks at so many: id and rank of the first who is fit. Or nil, and why: 'NONE' are left, 'LOOK' further, or ASK, see raise.
  local function lookAt(most)
    local ids, rankOf = source.read(most)
    if #ids == 0 then return nil, 'NONE' end
    local untils = request.hasTarget and redis.call('ZMSCORE', bans, unpack(ids))
    local banned, isRun = 0, true
    for n, id in ipairs(ids) do
      local isBanned = untils and untils[n] and tonumber(untils[n]) > nowMs
      if isBanned or excluded[id] then
        isRun = isRun and isBanned
        if isRun then banned = n end
      else
        local rank = tonumber(rankOf[n])
        passOver(ids, rankOf, n - 1, banned)
        looked = looked + n - 1
        if not (cursor.level and isLevelling and rank < cursor.level) then return id, rank end
        return nil, raise(id, cursor.level) and 'LOOK' or 'ASK'
      end
    end
    passOver(ids, rankOf, #ids, banned)
    looked = looked + #ids
    return nil, #ids < most and 'NONE' or 'LOOK'
  end

  local unbanned, handedOut

  -- A member that was found before the place stands elsewhere now: mostly behind all that a look passes over.
  local function noteHandedOut()
    local rank = handedOut and tonumber(redis.call('ZSCORE', ranks, handedOut) or nil)
    if rank and (rank <= cursor.place.rank or redis.call('HLEN', cursors) > 1) then noteFit(rank) end
    handedOut = nil
  end

  -- The first of those who are fit again, where nobody else can be before the place: id and rank; nil for none, and 'ASK', see raise.
  local function nextUnbanned()
    noteHandedOut()
    while unbanned[1] do
      local id, rank = unbanned[1].id, unbanned[1].rank
      local lowest = lowestSince(pool.descents, cursor.generation)
      local isNext = not (lowest and lowest <= cursor.place.rank) and isFit(request, id, redis.call('HGET', members, id))
      local isBehind = isNext and isLevelling and cursor.level and rank < cursor.level
      if isBehind and not raise(id, cursor.level) then return nil, 'ASK' end
      table.remove(unbanned, 1)
      redis.call('ZREM', bans, id)
      if isNext and not isBehind then
        handedOut = id
        return id, rank
      end
      noteFit(isBehind and cursor.level or rank)
    end
    return nil
  end

  return {
    -- The next member and its rank; or nil, and why: 'NONE', 'MORE' to look at by another call, or 'ASK'.
    next = function()
      if not unbanned then
        local mayBeMore
        unbanned, mayBeMore = {}, false
        if cursor.place then unbanned, mayBeMore = takeInEnded(cursor.place) end
        if mayBeMore then return nil, 'MORE' end
      end
      local first, firstRank = nextUnbanned()
      if first or firstRank then return first, firstRank end
      source = source or sourceOf(request.view, cursor)
      local window = next(excluded) and 4 or 1
      while looked < LOOK_MAX do
        local id, found = lookAt(window)
        if id then
          if isLevelling and request.hasTarget and cursor.level ~= found then cursor.level, cursor.hasLevelled = found, true end
          return id, found
        end
        if found ~= 'LOOK' then return nil, found end
        window = math.min(window * 4, WINDOW_MAX)
      end
      return nil, 'MORE'
    end,
    stop = function()
      if not request.hasTarget then return end
      keepCursor(request.view, cursor)
      noteHandedOut()
    end,
  }
end
