-- Does for a reader what guarded_adopt.lua does for a writer. Writers that wait do not matter here.
-- KEYS[1] lock; then KEYS the fence (fencing) and the lease record (strict); ARGV the longest TTL of all clients in ms, and
-- then as in guarded.lua, the third the token that is replaced.
-- Returns as in guarded.lua: 1 replaced, 0 held by another, 3 missing or expired: then nothing is written. The fencing token
-- is the highest that writers have; it is not raised.

-- include readers.lua

if skewed() then return {5, 0, micros} end
local _, fences, leases = names(1, 2)
local from = ARGV[at + 3]
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {3, 0, micros} end
if kind ~= 'zset' then return {0, 0, micros} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if (tonumber(redis.call('ZSCORE', KEYS[1], from) or 0) or 0) < now then return {3, 0, micros} end
local taken = any_leased(leases, true, from)
if taken then return taken end
local f, bad = 0, nil
if fencing then f, bad = given(fences[1]) end
if bad then return bad end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ttl), token)
redis.call('ZREM', KEYS[1], from)
expire_with_last(KEYS[1], now + ARGV[at])
note(leases, true, from)
return {1, f, micros}
