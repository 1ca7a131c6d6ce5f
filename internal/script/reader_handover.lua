-- Removes a reader as reader_release.lua does (the function plain), and hands the lock over if it is free then: the
-- last reader wakes the next waiters. See phases.lua.
-- KEYS[1] lock; ARGV[1] token; ARGV[2] the longest TTL of all clients in ms; ARGV[3] id of the client.
-- Returns what reader_release.lua does; or, if the lock is free now and has a queue on this master, {that, 1, n}: n is
-- 1 other clients were called, 2 this one is next, 0 nobody was there.
local released = plain(KEYS, ARGV)
if redis.call('TYPE', KEYS[1])['ok'] ~= 'none' then return released end
local queue = 'redquorum:q:1:{' .. KEYS[1] .. '}'
local waiting = redis.pcall('EXISTS', queue, queue .. ':readers') -- may not be permitted
if type(waiting) ~= 'number' or waiting == 0 then return released end -- nearly always

-- include handover.lua

-- include intents.lua

local after = writers_wait('redquorum:intent:1:' .. KEYS[1]) and 'kept' or 'reader'
local ok, successor = pcall(call_first, KEYS[1], queue, ARGV[3], after) -- whatever fails here, the lock is released
return ok and {released, 1, successor} or released
