--[[
  A member's record: one line of numbers, then two lines of JSON.

    <weight> <capacity, or - for the pool's> <offset>
    <value as a JSON string, or nothing where it is the id>
    <labels as a JSON object, or nothing where there are none>

  offset  how far the count that the strategy compares is ahead of the number of selections
]]
local function readRecord(text)
  local weight, capacity, offset, value, labels =
    string.match(text, '^(%d+) (%S+) (%S+)\n([^\n]*)\n([^\n]*)$')
  return {
    weight = tonumber(weight), capacity = capacity, offset = tonumber(offset), value = value, labels = labels,
  }
end

local function writeRecord(record)
  return string.format('%d %s %.0f\n', record.weight, record.capacity, record.offset)
    .. record.value .. '\n' .. record.labels
end
