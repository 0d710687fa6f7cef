--[[
  What is known about a member that bears on whether it may be selected, and the one place where its state follows from that.
  Of most members nothing is known: they have no facts.

    <disabled: 1 or 0> <probe: c candidate, u unhealthy, or -> <coolingUntil> <coolingSince> <strikes> <on trial: 1 or 0> <since> <successes> <failed> <failures: times, comma between, or ->
    <how it violates the pool's policy, or nothing>
    <what it is withdrawn for, in words: of the last probe, or of the outcome that began its cooldown>

  Times are in ms, 0 for never. `coolingSince` is when the latest cooldown began, `strikes` how many cooldowns there were that no
  success has made up for, `successes` and `failed` the outcomes
  counted since `since`, and `failures` the times of the latest failures.

  Needs  member-record.lua, catalogue.lua, restore.lua
]]
local function noFacts()
  return {
    isDisabled = false, probe = '-', coolingUntil = 0, coolingSince = 0, strikes = 0, isOnTrial = false,
    since = 0, successes = 0, failed = 0, failures = '-', violation = '', evidence = '',
  }
end

local function parseFacts(text)
  if not text then return noFacts() end
  local disabled, probe, coolingUntil, coolingSince, strikes, trial, since, successes, failed, failures, violation, evidence =
    string.match(text, '^(%d) (%S) (%d+) (%d+) (%d+) (%d) (%d+) (%d+) (%d+) (%S+)\n([^\n]*)\n([^\n]*)$')
  return {
    isDisabled = disabled == '1', probe = probe, coolingUntil = tonumber(coolingUntil), coolingSince = tonumber(coolingSince),
    strikes = tonumber(strikes), isOnTrial = trial == '1', since = tonumber(since), successes = tonumber(successes), failed = tonumber(failed),
    failures = failures, violation = violation, evidence = evidence,
  }
end

local function formatFacts(facts)
  return string.format('%d %s %.0f %.0f %d %d %.0f %d %d %s\n', facts.isDisabled and 1 or 0, facts.probe, facts.coolingUntil,
    facts.coolingSince, facts.strikes, facts.isOnTrial and 1 or 0, facts.since, facts.successes, facts.failed, facts.failures)
    .. facts.violation .. '\n' .. facts.evidence
end

local NO_FACTS = formatFacts(noFacts())

local function readFacts(id)
  return parseFacts(redis.call('HGET', factsOf, id))
end

local function keepFacts(id, facts)
  local text = formatFacts(facts)
  if text == NO_FACTS then
    redis.call('HDEL', factsOf, id)
  else
    redis.call('HSET', factsOf, id, text)
  end
end

-- Why a member is withdrawn, '-' if it is not, and until when, '-' where that is not known.
local function verdictOn(facts)
  if facts.isDisabled then return 'disabled', '-' end
  if facts.violation ~= '' then return 'policy', '-' end
  if facts.probe == 'c' then return 'candidate', '-' end
  if facts.probe == 'u' then return 'unhealthy', '-' end
  if facts.coolingUntil > nowMs then return 'cooling', string.format('%.0f', facts.coolingUntil) end
  return '-', '-'
end

-- What a member is in the index with: a copy to compare with, taken before its record is changed.
local function asItWas(record, reason)
  return { weight = record.weight, capacity = record.capacity, views = record.views, isOnTrial = record.isOnTrial, reason = reason }
end

-- Puts a member where its facts and its record want it, and writes both. `was` is what asItWas said before they were changed.
local function reconsider(index, id, record, facts, was, score, assigned)
  local reason, returnsAt = verdictOn(facts)
  record.isOnTrial = facts.isOnTrial
  if reason == '-' and was.reason ~= '-' then
    score = restoredScore(index, redis.call('HGET', settings, 'restore'), score, record)
  end
  place(index, id, record, score, assigned, reason, returnsAt, was)
  keepRecord(id, record)
  keepFacts(id, facts)
  return reason, returnsAt
end
