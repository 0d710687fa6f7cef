--[[
  What outcomes mean for a member, by the pool's health rules.

  A cooldown is twice as long as the one before it, as long as no success comes in between (exponential backoff), up to the longest, and
  longer or shorter by a share, so that members that fail together do not return together. How many may cool at once is
  bounded, after the panic threshold and the ejection cap of Envoy: when most members fail, it is not they who are ill.

  Needs  catalogue.lua, facts.lua, and `health`: the pool's settings, nil for none; `banMs`
]]
-- Where a pool has no health rules, only bans withdraw members, and these at most half of them.
local MAX_EJECTED = 0.5

-- Scripts have no random numbers of their own that differ from run to run.
local function chanceFor(id)
  return tonumber(string.sub(redis.sha1hex(id .. ' ' .. time[1] .. ' ' .. time[2]), 1, 13), 16) / 2 ^ 52
end

-- How long the next cooldown of a member lasts, in ms, and at least so long.
local function cooldownOf(id, facts, leastMs)
  if not health then return leastMs end
  local ms = math.min(health.maxCooldownMs, health.cooldownMs * 2 ^ facts.strikes)
  ms = math.floor(ms * (1 + health.jitter * (2 * chanceFor(id) - 1)))
  return math.max(ms, leastMs)
end

-- Whether one more eligible member may be withdrawn for what outcomes say; one always may.
local function mayEject()
  local cooling = tonumber(redis.call('HGET', reasons, 'cooling') or nil) or 0
  local most = math.floor((health and health.maxEjected or MAX_EJECTED) * (redis.call('ZCARD', eligible) + cooling))
  return cooling < math.max(1, most)
end

-- Whether an outcome says anything of the member as it is: not if its work began before the latest cooldown.
local function isOfNow(facts, beganMs)
  if beganMs then return beganMs > facts.coolingSince end
  return facts.isOnTrial or facts.coolingUntil <= nowMs
end

local function cool(id, facts, why, leastMs, isEligible)
  facts.evidence = why
  if isEligible and not mayEject() then
    facts.evidence = why .. '; stays, since so many others cool'
    return
  end
  facts.coolingUntil = math.max(facts.coolingUntil, nowMs + cooldownOf(id, facts, leastMs))
  facts.coolingSince, facts.strikes, facts.isOnTrial = nowMs, facts.strikes + 1, false
  facts.since, facts.successes, facts.failed, facts.failures = 0, 0, 0, '-'
end

-- Begins a new count of outcomes where the one that there is has grown old.
local function turnWindow(facts)
  if facts.since > 0 and math.abs(nowMs - facts.since) <= health.windowMs then return end
  facts.since, facts.successes, facts.failed = nowMs, 0, 0
end

-- Adds the time of a failure to those within the window, as many as the rule counts; says how many these are.
local function addFailure(facts)
  local times = { string.format('%.0f', nowMs) }
  for at in string.gmatch(facts.failures, '%d+') do
    if #times < health.failures and math.abs(nowMs - at) <= health.windowMs then times[#times + 1] = at end
  end
  facts.failures = table.concat(times, ',')
  return #times
end

local function failWith(id, facts, isEligible)
  if facts.isOnTrial then return cool(id, facts, 'failed on trial', 0, isEligible) end
  local failures = health.failures and addFailure(facts) or 0
  local ratio = health.successRatio
  if ratio then
    turnWindow(facts)
    facts.failed = facts.failed + 1
  end
  if health.failures and failures >= health.failures then
    return cool(id, facts, string.format('%d failures within %g s', failures, health.windowMs / 1000), 0, isEligible)
  end
  local outcomes = facts.successes + facts.failed
  if ratio and outcomes >= ratio.sample and facts.successes < ratio.below * outcomes then
    return cool(id, facts, string.format('%d successes of %d', facts.successes, outcomes), 0, isEligible)
  end
end

local function succeed(facts)
  facts.strikes = math.max(0, facts.strikes - 1)
  if facts.isOnTrial then facts.isOnTrial, facts.coolingUntil, facts.evidence = false, 0, '' end
  if health and health.successRatio then
    turnWindow(facts)
    facts.successes = facts.successes + 1
  end
end
