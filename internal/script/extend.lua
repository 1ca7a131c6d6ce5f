-- Prolongs the lock where the token is ours (invariants S4, S6).
-- KEYS[1] lock; ARGV[1] token; ARGV[2] TTL in ms; ARGV[3] '1': set it again where it is missing.
-- Returns 1 still held, 2 was missing and is set again, 3 missing, 0 held by another.
-- A TTL is never shortened, so a late or partial extension is harmless.
local held = redis.pcall('GET', KEYS[1])
if held == ARGV[1] then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 1
end
if held then return 0 end
if ARGV[3] ~= '1' then return 3 end
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return 2
