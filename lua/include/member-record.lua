--[[
  A member's record: one line of numbers, two lines of JSON, and one line of what few members have.

    <weight> <capacity, or - for the pool's> <offset>
    <value as a JSON string, or nothing where it is the id>
    <labels as a JSON object, or nothing where there are none>
    <! while it is on trial><the names of the views that it is in, see views.lua>

  The record of most members ends with its last line end: that line is empty.

  offset  how far the count that the strategy compares is ahead of the number of selections
]]
local function readRecord(text)
  local weight, capacity, offset, value, labels, trial, views =
    string.match(text, '^(%d+) (%S+) (%S+)\n([^\n]*)\n([^\n]*)\n(!?)([^\n]*)$')
  return {
    weight = tonumber(weight), capacity = capacity, offset = tonumber(offset), value = value, labels = labels,
    isOnTrial = trial == '!', views = views,
  }
end

local function writeRecord(record)
  return string.format('%d %s %.0f\n', record.weight, record.capacity, record.offset)
    .. record.value .. '\n' .. record.labels .. '\n' .. (record.isOnTrial and '!' or '') .. record.views
end
