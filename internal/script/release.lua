-- Deletes the lock if the token is ours (invariant S4).
-- KEYS[1] lock; ARGV[1] token. Returns 1 deleted, 0 held by another, 3 missing.
-- GET fails with WRONGTYPE for a key of another type: another holds it. Its other errors say nothing about the holder.
local held = redis.pcall('GET', KEYS[1])
if held == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 1
end
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
if not held then return 3 end
return 0
