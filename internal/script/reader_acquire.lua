-- Lets a reader in, unless a writer holds the lock or waits for it.
-- KEYS[1] lock; KEYS[2] waiting writers; ARGV[1] token; ARGV[2] TTL in ms; ARGV[3] the longest TTL of all clients in
-- ms; ARGV[4] optional, '1': the pilot has called this reader, so waiting writers come after it (phases.lua).
-- Returns 1 granted, 0 held by another, 4 a writer waits.
-- Readers are a sorted set of tokens, by when each expires. The key expires with the last of them. A sorted set that
-- does not is held by another.
local INTENT = 2000 -- ms that a writer's intent counts

-- include readers.lua

local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'none' and kind ~= 'zset' then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local most = now + ARGV[3]
if kind == 'zset' then
  local last = tonumber(redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or 0
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 or math.abs(last - now - left) > 1000 then return 0 end
end
-- Intents are only advice. A key of another type at that name does not keep readers out. An intent further ahead than
-- INTENT does not, either: it was written before this clock was set back.
local waiting = ARGV[4] ~= '1' and redis.pcall('ZCOUNT', KEYS[2], string.format('%.0f', now), string.format('%.0f', now + INTENT))
if type(waiting) == 'number' and waiting > 0 then return 4 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
expire_with_last(KEYS[1], most)
return 1
