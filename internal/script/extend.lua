-- Extends the lock if the token is ours (invariants S4, S6).
-- KEYS[1] lock; ARGV[1] token; ARGV[2] TTL in ms; ARGV[3] '1': set the lock again if it is missing.
-- Returns 1 still held, 2 was missing and is set again, 3 missing, 0 held by another.
-- A TTL is never shortened, so a late or partial extension is harmless. PEXPIRE is the first write, and is sent even if
-- it changes nothing: a full Redis never refuses it, and refuses no write after it in the same script.
-- GET fails with WRONGTYPE for a key of another type: another holds it. Its other errors say nothing about the holder.
local held = redis.pcall('GET', KEYS[1])
if held == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[2]))
  return 1
end
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
if held then return 0 end
if ARGV[3] ~= '1' then return 3 end
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return 2
