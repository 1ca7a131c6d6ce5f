-- Deletes the lock where the token is ours (invariant S4).
-- KEYS[1] lock; ARGV[1] token. Returns 1 deleted, 0 held by another, 3 missing.
-- A key of another type makes GET fail: it is another's.
local held = redis.pcall('GET', KEYS[1])
if held == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 1
end
if not held then return 3 end
return 0
