-- Does what the plain script before it does, which is the function plain, in strict: clears our leases first.
-- KEYS locks, then their lease records; ARGV[1] token. Returns what the plain script does.
-- A lease is cleared also where the lock's key is gone: nobody acts under the token any more.
local locks, n = {}, #KEYS / 2
for i = 1, n do
  locks[i] = KEYS[i]
  redis.pcall('ZREM', KEYS[n + i], ARGV[1])
end
return plain(locks)
