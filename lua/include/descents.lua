--[[
  Where members have moved down to. A cursor (see narrow.lua) says that up to its place nobody is to be found; it holds as long as
  nobody comes to stand before it. Selections move members up; whoever moves one down, or puts one in, notes it here.

  Generations number the times at which cursors were written. The field `descents` of the settings holds the present one, the
  one up to which no cursor holds any more, and for a few generations, the latest first, the lowest rank that anybody has moved
  down to in it or since:

    <generation> <floor> <generation>:<rank> ...

  Ranks fall from one entry to the next: what was noted earlier and is not lower says nothing. Of too many entries the two oldest
  become one, with the lower rank of both, which makes cursors of that time look further back than they need, never too little.
  There is no such field, and nothing to be noted, before the pool's first cursor.
]]
local DESCENTS_MAX = 16

local function readDescents(text)
  local generation, floor = string.match(text or '0 0', '^(%S+) (%S+)')
  local entries = {}
  for noted, rank in string.gmatch(text or '', '(%S+):(%S+)') do
    entries[#entries + 1] = { generation = tonumber(noted), rank = tonumber(rank) }
  end
  return { generation = tonumber(generation), floor = tonumber(floor), entries = entries }
end

local function writeDescents(descents)
  local parts = { string.format('%.0f %.0f', descents.generation, descents.floor) }
  for n, entry in ipairs(descents.entries) do parts[n + 1] = string.format('%.0f:%.17g', entry.generation, entry.rank) end
  return table.concat(parts, ' ')
end

-- What the field becomes when a member comes to stand at that rank.
local function withDescent(text, rank)
  local lowest = string.match(text, '^(%S+) %S+ %1:(%S+)') and tonumber(string.match(text, ':(%S+)'))
  if lowest and lowest <= rank then return text end
  local descents = readDescents(text)
  local entries = descents.entries
  while entries[1] and entries[1].rank >= rank do table.remove(entries, 1) end
  table.insert(entries, 1, { generation = descents.generation, rank = rank })
  if #entries > DESCENTS_MAX then
    entries[#entries - 1].rank = entries[#entries].rank
    entries[#entries] = nil
  end
  return writeDescents(descents)
end

-- The lowest rank that anybody has moved down to since a cursor of that generation was written, nil for none; false when the
-- cursor holds no more, or is of another pool that had this name.
local function lowestSince(text, generation)
  local descents = readDescents(text)
  if generation <= descents.floor or generation > descents.generation then return false end
  local entries = descents.entries
  for n = #entries, 1, -1 do
    if entries[n].generation >= generation then return entries[n].rank end
  end
  return nil
end

-- The field with a new generation, and that.
local function withGeneration(text)
  local descents = readDescents(text)
  descents.generation = descents.generation + 1
  return writeDescents(descents), descents.generation
end

-- The field when ranks have become others.
local function withNewRanks(text)
  local descents = readDescents(text)
  local generation = descents.generation + 1
  return writeDescents({ generation = generation, floor = generation, entries = {} })
end
