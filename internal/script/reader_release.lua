-- Takes a reader out (invariant S4), or the writer with our token where it was not yet turned into one.
-- KEYS[1] lock; ARGV[1] token; ARGV[2] id of the client where the lock is handed over, else none.
-- Returns 1 taken out, 0 held by another, 3 missing or expired; or, where the lock is free now, or readers' and
-- a reader waits first, and this master has its queue, {that, 1, 1 another client was told or 2 this one is next or 0 nobody was there}.
-- The set expires with the last of those that stay; an empty one is gone at once.
local function release()
  local kind = redis.call('TYPE', KEYS[1])['ok']
  if kind == 'none' then return 3 end
  if kind == 'string' and redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
    return 1
  end
  if kind ~= 'zset' then return 0 end
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local mine = redis.call('ZSCORE', KEYS[1], ARGV[1])
  if not mine then return 3 end
  redis.call('ZREM', KEYS[1], ARGV[1])
  local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  if last then redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', tonumber(last))) end
  if tonumber(mine) < now then return 3 end
  return 1
end

local released = release()
if not ARGV[2] then return released end
local queue = 'redquorum:q:1:{' .. KEYS[1] .. '}'
local waiting = redis.pcall('EXISTS', queue) -- may not be permitted
if type(waiting) ~= 'number' or waiting == 0 then return released end -- nearly always
if redis.call('TYPE', queue)['ok'] ~= 'zset' then return released end

-- include handover.lua

if redis.call('EXISTS', KEYS[1]) == 1 then -- to other readers only: they may have met an attempt that came to nothing
  local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if taken(KEYS[1]) or tonumber(first[2]) < BEHIND then return released end
end
local ok, told = pcall(tell_first, KEYS[1], queue, ARGV[2]) -- whatever becomes of it, the lock is released
return ok and {released, 1, told} or released
