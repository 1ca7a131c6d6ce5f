-- Extends a reader's hold (invariants S4, S6).
-- KEYS[1] lock; ARGV[1] token; ARGV[2] TTL in ms; ARGV[3] '1': enter the reader again if it is missing; ARGV[4] the
-- longest TTL of all clients in ms.
-- Returns 1 still held, 2 was missing and is entered again, 3 missing, 0 held by another.
-- Waiting writers do not matter here. A reader's expiry is never shortened, except to the longest TTL from now.

-- include readers.lua

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ends, most = now + ARGV[2], now + ARGV[4]
local kind = redis.call('TYPE', KEYS[1])['ok']
local missing = kind == 'none'
if kind == 'zset' then
  local mine = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) or 0
  missing = mine < now
  ends = math.max(ends, mine)
  if missing then -- is it a set of readers? See reader_acquire.lua.
    local last = tonumber(redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or 0
    local left = redis.call('PTTL', KEYS[1])
    if left < 0 or math.abs(last - now - left) > 1000 then return 0 end
  end
elseif not missing then
  return 0
end
if missing and ARGV[3] ~= '1' then return 3 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
redis.call('ZADD', KEYS[1], string.format('%.0f', ends), ARGV[1])
expire_with_last(KEYS[1], most)
if missing then return 2 end
return 1
