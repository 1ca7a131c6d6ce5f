-- Deletes those of several locks where the token is ours (invariant S4).
-- KEYS locks; ARGV[1] token; ARGV[2] id of the client where the locks are handed over, else none.
-- Returns 1 all deleted, 0 any held by another, 3 otherwise some missing; or, where this master has queues of locks that
-- are free now, {that, number of the lock, counted from 1, 1 another client was told or 2 this one is next
-- or 0 nobody was there, and so on}.
local values = redis.call('MGET', unpack(KEYS)) -- false for a key that is missing or no string
local ours, missing, taken = {}, {}, false
for i, key in ipairs(KEYS) do
  if values[i] == ARGV[1] then
    ours[#ours + 1] = key
  elseif values[i] then
    taken = true
  else
    missing[#missing + 1] = key
  end
end
if #ours > 0 then redis.call('DEL', unpack(ours)) end
local released = 1
if taken or #missing > 0 and redis.call('EXISTS', unpack(missing)) > 0 then
  released = 0
elseif #missing > 0 then
  released = 3
end
if not ARGV[2] then return released end

local queues = {}
for i, key in ipairs(KEYS) do queues[i] = 'redquorum:q:1:{' .. key .. '}' end
local waiting = redis.pcall('EXISTS', unpack(queues)) -- may not be permitted
if type(waiting) ~= 'number' or waiting == 0 then return released end -- nearly always

-- include handover.lua

local reply = {released}
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 0 and redis.call('TYPE', queues[i])['ok'] == 'zset' then
    local ok, told = pcall(tell_first, key, queues[i], ARGV[2]) -- whatever becomes of it, the locks are released
    if ok then
      reply[#reply + 1] = i
      reply[#reply + 1] = told
    end
  end
end
return reply
