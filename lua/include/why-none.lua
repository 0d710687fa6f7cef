--[[
  Why an index that holds nobody has nobody: the caller's copy of the pool is old ('STALE', also while a change of
  strategy is half done), the pool has no members ('EMPTY_POOL'), or all are withdrawn ('NONE_ELIGIBLE').
]]
local function whyNone(settings, strategy, eligible, withdrawn)
  if redis.call('HGET', settings, 'strategy') ~= strategy then return 'STALE' end
  if redis.call('EXISTS', eligible) == 1 then return 'STALE' end
  return redis.call('EXISTS', withdrawn) == 1 and 'NONE_ELIGIBLE' or 'EMPTY_POOL'
end
