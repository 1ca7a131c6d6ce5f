-- The advisory queue of one lock, on the lock's pilot master: whose turn it is to try next. It decides
-- nothing about who holds the lock.
-- KEYS[1] lock; KEYS[2] queue, a sorted set of client ids by the time (in µs, of this master's clock) at which
-- they began to wait. A client to which the lock was handed over has the negative of the time until which it
-- is waited for; that is the first place.
-- ARGV[1] what to do; ARGV[2] id of the client; then
--   release: ARGV[3] token. Deletes the lock where the token is ours, as release.lua does, and hands over.
--     Returns what release.lua does, and 10 more if another client was told, 20 more if this client is next.
--   wait: ARGV[3] score of before, '' for none, or '+' and for how many µs the client has waited already. Keeps the
--     client's place, and hands over if the lock is free.
--   take: ARGV[3] as for wait, or '-' not to wait; ARGV[4] token; ARGV[5] TTL in ms; ARGV[6] '1': only
--     if nobody else is first. Sets the lock, and takes the client out of the queue. Returns OK; else it waits.
--   leave: takes the client out of the queue, and hands over if the lock is free, or readers', for the next one may be a
--     reader. Returns as release does, from 0.
--   read: as wait, for a reader; KEYS[3] writers that wait (see reader_acquire). Its place is
--     behind all others'. It may go where readers are in; where a writer waits it may not, and hands over.
-- wait, read, and take that failed, return {1 if the client may take the lock now, score, 1 if it is the first, and of
-- the lock type, value, PTTL}.
-- A queue of another type is left alone, and is an error of wait, read and leave.
local lock, queue, me = KEYS[1], KEYS[2], ARGV[2]

local released = 0
if ARGV[1] == 'release' then
  local held = redis.pcall('GET', lock)
  if held == ARGV[3] then
    redis.call('DEL', lock)
    released = 1
  elseif not held then
    released = 3
  end
  if redis.call('EXISTS', queue) == 0 then return released end -- nearly always
end

-- include handover.lua

local function hand_over() return tell_first(lock, queue, me) end

local function enqueue(score) return take_place(queue, me, score, ARGV[1] == 'read' and BEHIND or 0) end

local function state(go, score)
  local first = redis.call('ZRANGE', queue, 0, 0)[1]
  local kind, value = redis.call('TYPE', lock)['ok'], ''
  if kind == 'string' then value = redis.call('GETRANGE', lock, 0, 255) end
  if kind == 'zset' then value = tostring(redis.call('ZCARD', lock)) end -- of readers
  return {go, score, (not first or first == me) and 1 or 0,
    kind, value, redis.call('PTTL', lock)}
end

if ARGV[1] == 'release' then
  if redis.call('TYPE', queue)['ok'] ~= 'zset' then return released end
  local ok, told = pcall(hand_over) -- whatever becomes of it, the lock is released
  return ok and released + 10 * told or released
end

if ARGV[1] == 'take' then
  local kind = redis.call('TYPE', queue)['ok']
  local usable = kind == 'zset' or kind == 'none'
  local mine = true
  if ARGV[6] == '1' and kind == 'zset' and redis.call('EXISTS', lock) == 0 then
    mine = hand_over() == 2 or redis.call('EXISTS', queue) == 0
  end
  if mine and redis.call('SET', lock, ARGV[4], 'NX', 'PX', ARGV[5]) then
    if usable then redis.call('ZREM', queue, me) end
    return redis.status_reply('OK')
  end
  if not usable then return redis.error_reply('WRONGTYPE the queue of the lock is a ' .. kind) end
  return state(0, ARGV[3] == '-' and '' or enqueue(ARGV[3]))
end

if ARGV[1] == 'leave' then
  redis.call('ZREM', queue, me)
  if taken(lock) then return 0 end
  return 10 * hand_over()
end

if ARGV[1] == 'read' and not taken(lock) then
  local waiting = redis.pcall('ZCOUNT', KEYS[3], string.format('%.0f', math.floor(now() / 1000)), '+inf')
  if type(waiting) == 'number' and waiting > 0 then
    redis.call('ZREM', queue, me)
    if redis.call('EXISTS', lock) == 0 then hand_over() end
    return {0, enqueue(ARGV[3]), 0, 'intent', '', -2}
  end
  if redis.call('EXISTS', lock) == 1 then return state(1, '') end
end

if redis.call('EXISTS', lock) == 1 then return state(0, enqueue(ARGV[3])) end
-- Free: a client to which it was handed over keeps that mark, though the message may be lost.
local score, at = ARGV[3], redis.call('ZSCORE', queue, me)
if not at or tonumber(at) >= 0 then score = enqueue(score) end
return state(hand_over() == 2 and 1 or 0, score)
