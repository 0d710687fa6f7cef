--[[
  Give an import lock back, unless another import has taken it since.

  KEYS[1]  lock   string
  ARGV[1]  token  of the import that ends
  Returns  1 when it was given back, 0 when it was not ours
]]
local lock = KEYS[1]
local token = ARGV[1]

if redis.call('GET', lock) ~= token then return 0 end
return redis.call('DEL', lock)
