--[[
  One job of a request, and what is counted of it. A job that has no record waits for its first start, or was cancelled with its request.

  KEYS[1]  queue     hash  settings of the queue; `turn` and `turnUntil` say whose turn it is to start something; how many jobs are
                           `waiting`, `starting` and `running`, and how many have `finished`, `failed`, been `cancelled` or `lost` so far
  KEYS[2]  active    zset  job that is starting or running -> when a process last watched it, in ms
  KEYS[3]  nodes     hash  `starting <node>` and `running <node>` -> how many jobs
  KEYS[4]  retries   zset  job that is to be started again -> when, in ms
  KEYS[5]  cancels   set   jobs that are starting or running and are not wanted any more
  KEYS[6]  ends      zset  request that has ended -> when it is forgotten, in ms
  KEYS[7]  request   hash  of one request: what it is, and how many of its jobs are in which state
  KEYS[8]  jobs      hash  its jobs: number -> record, JSON; `<number> log` -> lines
  KEYS[9]  payloads  hash  number -> payload, JSON
  KEYS[10] line      zset  request that has jobs which were never started -> its place: priority, then order of arrival
  KEYS[11] owners    hash  job that is starting or running -> token of the process that acts on it
]]
local queue, active, nodes, retries, cancels, ends = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local request, jobs, payloads, line, owners = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local MAX_LOG_LENGTH = 8192

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local function recordOf(number)
  local found = redis.call('HGET', jobs, number)
  return found and cjson.decode(found) or nil
end

local function count(state, change)
  redis.call('HINCRBY', queue, state, change)
  return redis.call('HINCRBY', request, state, change)
end

local function countAtNode(state, node, change)
  local field = state .. ' ' .. node
  if redis.call('HINCRBY', nodes, field, change) <= 0 then redis.call('HDEL', nodes, field) end
end

-- The newest lines, each with its time; what does not fit any more is the oldest.
local function note(number, text)
  if text == '' then return end
  local field = number .. ' log'
  local log = (redis.call('HGET', jobs, field) or '') .. string.format('%.0f %s\n', nowMs, text)
  while #log > MAX_LOG_LENGTH do log = string.sub(log, string.find(log, '\n', 1, true) + 1) end
  redis.call('HSET', jobs, field, log)
end

local isActive = { starting = true, running = true }
local isLive = { waiting = true, starting = true, running = true }

-- When the last of its jobs has ended, a request is kept for a while.
local function endRequest(keepMs)
  local left = redis.call('HMGET', request, 'waiting', 'starting', 'running', 'id')
  if left[1] + left[2] + left[3] > 0 then return end
  redis.call('HSET', request, 'endedAt', string.format('%.0f', nowMs))
  redis.call('ZADD', ends, nowMs + keepMs, left[4])
  for _, key in ipairs({ request, jobs, payloads }) do redis.call('PEXPIRE', key, keepMs) end
end

-- Puts a job into a state, and writes its record. `before` is the state that it is counted in.
local function move(number, id, record, before, state, keepMs)
  if state ~= before then
    -- Jobs that were cancelled one by one keep no place for their request.
    if count(before, -1) == 0 and before == 'waiting' then
      redis.call('ZREM', line, redis.call('HGET', request, 'id'))
    end
    count(state, 1)
    if isActive[before] then countAtNode(before, record.node, -1) end
    if isActive[state] then countAtNode(state, record.node, 1) end
    record[isLive[state] and state .. 'At' or 'endedAt'] = nowMs
  end
  record.state = state
  -- Of no use any more, and one of them is secret.
  if not isActive[state] then record.address, record.launcher = nil, nil end
  redis.call('HSET', jobs, number, cjson.encode(record))
  if isActive[state] then
    redis.call('ZADD', active, nowMs, id)
  else
    redis.call('ZREM', active, id)
    redis.call('SREM', cancels, id)
    redis.call('HDEL', owners, id)
  end
  if not isLive[state] then endRequest(keepMs) end
end

-- Whoever watches an active job sees to it.
local function markUnwanted(number, job)
  if redis.call('SADD', cancels, job) == 1 then note(number, 'to be cancelled') end
end

local function endTurn(id)
  if redis.call('HGET', queue, 'turn') == id then redis.call('HDEL', queue, 'turn', 'turnUntil') end
end
