--[[
  Write down payloads of a request that is being taken in; they go by themselves when it never is.

  KEYS[1]  staged  hash  number of a job -> payload, JSON
  ARGV[1]  keepMs  for how long
  ARGV[2..]        number, payload, ...
  Returns  1
  Time     O(N) for N payloads
]]
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
