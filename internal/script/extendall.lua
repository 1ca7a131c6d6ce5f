-- Extends several locks if the token is ours (invariants S4, S6).
-- KEYS locks; ARGV[1] token; ARGV[2] TTL in ms; ARGV[3] '1': set the missing ones again.
-- Returns 1 all still held, 2 some were missing and are set again, 3 some missing, 0 any held by another.
-- A TTL is never shortened. Our locks are extended in any case; if another holds one, no missing one is set again.
local values = redis.call('MGET', unpack(KEYS)) -- false for a key that is missing or not a string
local missing, taken = {}, false
for i, key in ipairs(KEYS) do
  if values[i] == ARGV[1] then
    redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), ARGV[2])) -- the first write: see extend.lua
  elseif values[i] then
    taken = true
  else
    missing[#missing + 1] = key
  end
end
if taken or #missing > 0 and redis.call('EXISTS', unpack(missing)) > 0 then return 0 end
if #missing == 0 then return 1 end
if ARGV[3] ~= '1' then return 3 end
for _, key in ipairs(missing) do
  redis.call('SET', key, ARGV[1], 'NX', 'PX', ARGV[2])
end
return 2
