-- Removes a reader (invariant S4).
-- KEYS[1] lock; ARGV[1] token; ARGV[2] the longest TTL of all clients in ms.
-- Returns 1 removed, 0 held by another, 3 missing or expired.
-- The set expires with the last reader that stays; Redis deletes an empty set at once.

-- include readers.lua

local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return 3 end
if kind ~= 'zset' then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local most = now + ARGV[2]
local mine = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not mine then return 3 end
redis.call('ZREM', KEYS[1], ARGV[1])
expire_with_last(KEYS[1], most)
if tonumber(mine) < now then return 3 end
return 1
