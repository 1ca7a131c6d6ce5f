-- Clears the leases of several locks, in strict, and leaves to releasebatch.lua behind it what that does.
-- KEYS what that takes, and then the locks' lease records; ARGV as for that. Returns what that does.
-- A lease is cleared also where the lock's key is gone: nobody acts under the token any more.
for i = #ARGV - 1, 1, -1 do
  local cleared = redis.pcall('ZREM', KEYS[#KEYS], ARGV[i])
  if type(cleared) == 'table' and not string.find(cleared.err, 'WRONGTYPE', 1, true) then return cleared end
  KEYS[#KEYS] = nil
end
