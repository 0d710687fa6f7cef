--[[
  Put one step of a list into the pool: new members, members that come back, and changes of those that are there.
  An absent field keeps its value. A member that was disabled, or removed while disabled, stays disabled.

  ARGV[1]  strategy  the one the caller composed this script for
  ARGV[2]  token     of the import lock, or '' for none
  ARGV[3]  lockTtlMs
  ARGV[4]  dryRun    '1': count what would happen, write nothing
  ARGV[5..]          five for each member: id · value as JSON, '=' where it is the id, '' absent · labels as JSON, '' absent ·
                     weight, '' absent · capacity, '-' none, '' absent
  Returns  {'', added, updated, restored, unchanged}, or {'STALE' | 'MOVING' | 'LOCK_LOST'}
  Time     O(n log N) for a step of n members
]]
--@include include/member-record.lua
--@include include/stride.lua
--@include include/catalogue.lua
--@include include/restore.lua
--@index index
local strategy, token, lockTtlMs, dryRun = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'

local refusal = outdated(strategy) or lockLost(token, lockTtlMs)
if refusal then return { refusal } end

local FIRST, FIELDS = 5, 5
local ids = {}
for at = FIRST, #ARGV, FIELDS do ids[#ids + 1] = ARGV[at] end
local present = redis.call('HMGET', members, unpack(ids))
local past = redis.call('HMGET', history, unpack(ids))
local policy = redis.call('HMGET', settings, 'restore', 'initialCount')
local restore, initialCount = policy[1], policy[2]

local function given(at, record)
  local value, labels, weight, capacity = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  if value ~= '' then record.value = value == '=' and '' or value end
  if labels ~= '' then record.labels = labels == '{}' and '' or labels end
  if weight ~= '' then record.weight = tonumber(weight) end
  if capacity ~= '' then record.capacity = capacity end
  return record
end

-- A change of weight or capacity keeps the member's score and its number of selections.
local function update(id, record, oldWeight, oldCapacity)
  if record.weight ~= oldWeight or record.capacity ~= oldCapacity then
    local newWeight = record.weight
    record.weight = oldWeight
    local score, assigned, _, reason, returnsAt = standingOf(index, id, record)
    record.weight = newWeight
    place(index, id, record, score, assigned, reason, returnsAt, oldWeight)
  end
  keepRecord(id, record)
end

local function comeBack(id, record, text)
  local score, assigned, reason, returnsAt = readStanding(text)
  if reason == '-' then score = restoredScore(index, restore, score) end
  place(index, id, record, score, assigned, reason, returnsAt)
  keepRecord(id, record)
  redis.call('HDEL', history, id)
  redis.call('ZREM', removed, id)
end

local function begin(id, record)
  local score = initialCount == 'level' and restoredScore(index, 'level', 0) or tonumber(initialCount) * STRIDE
  index.enter(id, record, score, 0, record.weight)
  redis.call('ZADD', eligible, 0, id)
  keepRecord(id, record)
end

local added, updated, restored, unchanged = 0, 0, 0, 0
for n, id in ipairs(ids) do
  local at = FIRST + (n - 1) * FIELDS
  if present[n] then
    local record = readRecord(present[n])
    local oldWeight, oldCapacity = record.weight, record.capacity
    if writeRecord(given(at, record)) == present[n] then
      unchanged = unchanged + 1
    else
      updated = updated + 1
      if not dryRun then update(id, record, oldWeight, oldCapacity) end
    end
  else
    local record = given(at, { weight = 1, capacity = '-', offset = 0, value = '', labels = '' })
    if past[n] then
      restored = restored + 1
      if not dryRun then comeBack(id, record, past[n]) end
    else
      added = added + 1
      if not dryRun then begin(id, record) end
    end
  end
end
return { '', added, updated, restored, unchanged }
