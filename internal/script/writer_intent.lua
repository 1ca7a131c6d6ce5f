-- Notes, or notes again, that a writer waits: until the note expires, new readers stay out.
-- KEYS[1] waiting writers; ARGV[1] the writer's mark; ARGV[2] for how long the mark counts, in ms.
-- Returns 1, or 0 if a key of another type is at that name.
-- The marks are a sorted set, by when each expires. The key expires with the last.
local INTENT = 2000 -- ms, as in reader_acquire.lua

local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'none' and kind ~= 'zset' then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
-- Marks further ahead than any new one can be were written before this clock was set back.
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', math.max(now + INTENT, now + ARGV[2])), '+inf')
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', tonumber(last)))
return 1
