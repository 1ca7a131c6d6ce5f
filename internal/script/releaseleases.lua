-- Removes the leases of several locks, in strict. releasebatch.lua behind it releases the locks.
-- KEYS those of releasebatch.lua, then the locks' lease records; ARGV as there. Returns what that does.
-- A lease is removed even if the lock's key is gone: no client acts under the token any more.
for i = #ARGV - 1, 1, -1 do
  local cleared = redis.pcall('ZREM', KEYS[#KEYS], ARGV[i])
  if type(cleared) == 'table' and not string.find(cleared.err, 'WRONGTYPE', 1, true) then return cleared end
  KEYS[#KEYS] = nil
end
