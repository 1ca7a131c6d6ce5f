-- Lets a reader in, unless a writer holds the lock or waits for it.
-- KEYS[1] lock; KEYS[2] waiting writers; ARGV[1] token; ARGV[2] TTL in ms; ARGV[3] the longest TTL of all clients in ms;
-- ARGV[4], if it is given: '1': the pilot has called this reader, so writers that wait are behind it (phases.lua).
-- Returns 1 granted, 0 held by another, 4 a writer waits.
-- Readers are a sorted set, their tokens by when each expires, which itself
-- expires with the last of them. One that does not is somebody else's.
local INTENT = 2000 -- ms that a writer's intent stands

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
-- Advice for progress: what else may be at that name does not keep readers out, nor does an intent that this clock, set
-- back since, would have stand for longer than any does.
local waiting = ARGV[4] ~= '1' and redis.pcall('ZCOUNT', KEYS[2], string.format('%.0f', now), string.format('%.0f', now + INTENT))
if type(waiting) == 'number' and waiting > 0 then return 4 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
expire_with_last(KEYS[1], most)
return 1
