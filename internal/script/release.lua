-- Deletes the lock where the token is ours (invariant S4).
-- KEYS[1] lock; ARGV[1] token. Returns 1 deleted, 0 held by another, 3 missing.
-- A key of another type makes GET fail with WRONGTYPE: it is another's. Any other error says nothing about the holder.
local held = redis.pcall('GET', KEYS[1])
if held == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 1
end
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
if not held then return 3 end
return 0
