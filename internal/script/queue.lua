-- The advisory queue of one lock, on its pilot: whose turn it is to try next. It does not decide who holds the lock.
-- KEYS[1] lock; KEYS[2] queue, a sorted set of client ids by the time (in µs, of this master's clock) at which they
-- began to wait. A called client, to which the lock was handed over, has a mark instead: the negative of the time until
-- which the lock is kept for it. So it is first. Waiting readers have a set of their own (readers_queue.lua).
-- KEYS[3] optional: for release the lease record; for take behind guarded.lua the fence (fencing), then the lease
-- record (strict).
-- ARGV[1] what to do; ARGV[2] id of the client; then
--   release: ARGV[3] token. Deletes the lock if the token is ours, as release.lua does, and hands over. Returns what
--     release.lua does, plus 10 if another client was called, or 20 if this one is next.
--   wait: ARGV[3] the client's earlier score, '' for none, or '+' and for how many µs it has waited already. Keeps the
--     client in the queue, and hands over if the lock is free.
--   take: ARGV[3] as for wait, or '-' not to wait; ARGV[4] token; ARGV[5] TTL in ms; ARGV[6] '1': only if no other
--     client is first. Sets the lock, removes the client from the queue, and returns OK. If that fails, the client
--     waits. With KEYS[3] and the arguments of guarded.lua from the fourth on it returns {code, fencing token, TIME}
--     instead of OK, and if the clocks differ. A lease in the way counts as a lock of the type lease.
--   leave: removes the client from the queue, and hands over if the lock is free. Returns 0, or 10 or 20 as above.
--   look: changes nothing.
-- wait, look, and a take that failed, return {1 if the client may take the lock now, score, 1 if no other client is
-- first, and of the lock type, value, PTTL, see held.lua}. A free lock that is kept for another client has the type
-- called; its PTTL is for how long, if that is known.
-- A queue key of another type is never changed. It is an error of wait, leave, look, and of a take that failed.
local lock, queue, me = KEYS[1], KEYS[2], ARGV[2]

local released = 0
if ARGV[1] == 'release' then
  local held = redis.pcall('GET', lock)
  if held == ARGV[3] then
    redis.call('DEL', lock)
    released = 1
  elseif type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then
    return held
  elseif not held then
    released = 3
  end
  local cleared = KEYS[3] and redis.pcall('ZREM', KEYS[3], ARGV[3])
  if type(cleared) == 'table' and not string.find(cleared.err, 'WRONGTYPE', 1, true) then return cleared end
  if redis.pcall('EXISTS', queue, queue .. ':readers') == 0 then return released end -- nearly always
end

-- include handover.lua

-- include held.lua

local function hand_over(after) return call_first(lock, queue, me, after) end

local function enqueue(score) return join_queue(queue, me, score) end

local function state(go, score)
  local kind, value, left = held(lock)
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  local first = not head[1] or head[1] == me
  if kind == 'none' and not first then
    local mark, time = tonumber(head[2]), now()
    if stands(mark, time) then kind, left = 'called', math.ceil((-mark - time) / 1000) end
  end
  return {go, score, first and 1 or 0, kind, value, left}
end

if ARGV[1] == 'look' then return state(0, '') end

if ARGV[1] == 'release' then
  local ok, successor = pcall(hand_over, 'writer') -- whatever fails here, the lock is released
  return ok and released + 10 * successor or released
end

if ARGV[1] == 'take' then
  if KEYS[3] and skewed() then return {5, 0, micros} end
  local kind = redis.call('TYPE', queue)['ok']
  local usable = kind == 'zset' or kind == 'none'
  local mine = true
  local waited = kind == 'zset' or kind == 'none' and readers_wait(queue)
  if ARGV[6] == '1' and waited and redis.call('EXISTS', lock) == 0 then
    mine = hand_over() == 2 or redis.call('EXISTS', queue) == 0 and not readers_wait(queue)
  end
  local granted, reply = false, redis.status_reply('OK')
  if mine and KEYS[3] then
    local _, fences, leases = names(1, 3)
    reply = grant({lock}, fences, leases)
    if not reply[1] then return reply end -- an error
    granted = reply[1] == 1
  elseif mine then
    granted = redis.call('SET', lock, ARGV[4], 'NX', 'PX', ARGV[5])
  end
  if granted then
    if usable then redis.call('ZREM', queue, me) end
    return reply
  end
  if not usable then return redis.error_reply('WRONGTYPE the queue of the lock is a ' .. kind) end
  local failed = state(0, ARGV[3] == '-' and '' or enqueue(ARGV[3]))
  if reply[1] == 6 then failed[4], failed[5], failed[6] = 'lease', reply[5], reply[4] end
  if not mine and failed[4] == 'none' then failed[4] = 'called' end
  return failed
end

if ARGV[1] == 'leave' then
  redis.call('ZREM', queue, me)
  if redis.call('EXISTS', lock) == 1 then return 0 end
  return 10 * hand_over()
end

if redis.call('EXISTS', lock) == 1 then return state(0, enqueue(ARGV[3])) end
-- The lock is free. A called client keeps its mark, because the message to it may be lost.
local score, at = ARGV[3], redis.call('ZSCORE', queue, me)
if not at or tonumber(at) >= 0 then score = enqueue(score) end
return state(hand_over() == 2 and 1 or 0, score)
