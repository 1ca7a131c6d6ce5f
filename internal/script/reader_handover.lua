-- Does what reader_release.lua does, which is the function plain before it, and hands the lock over if it is free then: the
-- last reader wakes who waits. See phases.lua.
-- KEYS[1] lock; ARGV[1] token; ARGV[2] the longest TTL of all clients in ms; ARGV[3] id of the client.
-- Returns what reader_release.lua does; or, where this master has a queue of a lock that is free now, {that, 1, 1 other
-- clients were told or 2 this one is next or 0 nobody was there}.
local released = plain(KEYS, ARGV)
if redis.call('TYPE', KEYS[1])['ok'] ~= 'none' then return released end
local queue = 'redquorum:q:1:{' .. KEYS[1] .. '}'
local waiting = redis.pcall('EXISTS', queue, queue .. ':readers') -- may not be permitted
if type(waiting) ~= 'number' or waiting == 0 then return released end -- nearly always

-- include handover.lua

-- include intents.lua

local after = writers_wait('redquorum:intent:1:' .. KEYS[1]) and 'kept' or 'reader'
local ok, told = pcall(tell_first, KEYS[1], queue, ARGV[3], after) -- whatever becomes of it, the lock is released
return ok and {released, 1, told} or released
