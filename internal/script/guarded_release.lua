-- Removes our leases, in strict. The plain script behind it releases the locks.
-- KEYS locks, then their lease records; ARGV[1] token. Returns what the plain script does.
-- A lease is removed even if the lock's key is gone: no client acts under the token any more.
for i = #KEYS, #KEYS / 2 + 1, -1 do
  local cleared = redis.pcall('ZREM', KEYS[i], ARGV[1])
  if type(cleared) == 'table' and not string.find(cleared.err, 'WRONGTYPE', 1, true) then return cleared end
  KEYS[i] = nil -- the plain script takes only the locks
end

