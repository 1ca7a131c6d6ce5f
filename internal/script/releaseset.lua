-- Releases locks as releaseall.lua does (the function plain), and hands them over. See queue.lua.
-- KEYS locks; ARGV[1] token; ARGV[2] id of the client. Returns what releaseall.lua does; or, if locks that are free now
-- have queues on this master, {that, number of such a lock, counted from 1, n, and so on}: n is 1 another client was
-- called, 2 this one is next, 0 nobody was there.
local released = plain(KEYS, ARGV)
local queues = {} -- first of writers, then of readers
for i, key in ipairs(KEYS) do
  queues[i] = 'redquorum:q:1:{' .. key .. '}'
  queues[#KEYS + i] = queues[i] .. ':readers'
end
local waiting = redis.pcall('EXISTS', unpack(queues)) -- may not be permitted
if type(waiting) ~= 'number' or waiting == 0 then return released end -- nearly always

-- include handover.lua

local reply = {released}
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 0 and redis.call('EXISTS', queues[i], queues[#KEYS + i]) > 0 then
    local ok, successor = pcall(call_first, key, queues[i], ARGV[2], 'writer') -- whatever fails, the locks are released
    if ok then
      reply[#reply + 1] = i
      reply[#reply + 1] = successor
    end
  end
end
return reply
