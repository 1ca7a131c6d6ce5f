-- Checks whether a reader still holds the lock; changes nothing.
-- KEYS[1] lock; ARGV[1] token. Returns 1 held, 0 held by another, 3 missing or expired.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return 3 end
if kind ~= 'zset' then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local mine = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) or 0
if mine >= now then return 1 end
return 3
