--[[
  Members return whose cooldown has ended, those first that ended first, under the pool's restore policy.

  Needs  member-record.lua, catalogue.lua, facts.lua, `index`
]]
-- Lets so many return at most; says how many did.
local function letReturn(most)
  local due = redis.call('ZRANGEBYSCORE', returns, '-inf', nowMs, 'LIMIT', 0, most)
  local health = #due > 0 and redis.call('HGET', settings, 'health')
  local hasTrial = health and health ~= '' and cjson.decode(health).trial
  for _, id in ipairs(due) do
    local record, facts = readRecord(redis.call('HGET', members, id)), readFacts(id)
    local score, assigned, _, reason = standingOf(index, id, record)
    local was = asItWas(record, reason)
    facts.isOnTrial = facts.isOnTrial or hasTrial and facts.strikes > 0
    reconsider(index, id, record, facts, was, score, assigned)
  end
  return #due
end
