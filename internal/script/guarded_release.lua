-- Clears our leases, in strict, and leaves to the plain script behind it what that does.
-- KEYS locks, then their lease records; ARGV[1] token. Returns what the plain script does.
-- A lease is cleared also where the lock's key is gone: nobody acts under the token any more.
for i = #KEYS, #KEYS / 2 + 1, -1 do
  local cleared = redis.pcall('ZREM', KEYS[i], ARGV[1])
  if type(cleared) == 'table' and not string.find(cleared.err, 'WRONGTYPE', 1, true) then return cleared end
  KEYS[i] = nil -- the plain script takes the locks alone
end

