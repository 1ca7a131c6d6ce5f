-- The advisory queues of several locks of which a client wants any one, on a master that is the pilot of all of them.
-- See queue.lua.
-- KEYS lock, its queue, and so on; ARGV[1] what to do; ARGV[2] id of the client; then
--   wait: ARGV[3] '+' and for how many µs the client has waited already. Keeps the client's places, and hands over
--     the first lock that is free; no further ones where that is this client's. Returns {number of the lock, counted
--     from 1, that the client may take now, or 0, and of the lock that expires first number, type, value, PTTL}.
--   leave: takes the client out of the queues, and hands over what is free. Returns 1.
-- A queue of another type is an error.
local me = ARGV[2]

-- include handover.lua

-- include held.lua

if ARGV[1] == 'leave' then
  for i = 1, #KEYS, 2 do
    redis.call('ZREM', KEYS[i + 1], me)
    if redis.call('EXISTS', KEYS[i]) == 0 then tell_first(KEYS[i], KEYS[i + 1], me) end
  end
  return 1
end

local soonest, best
for i = 1, #KEYS, 2 do
  local lock, queue = KEYS[i], KEYS[i + 1]
  local left = redis.call('PTTL', lock)
  local rank = left == -1 and math.huge or left
  if not soonest or rank < best then soonest, best = i, rank end
  -- Free: a client to which it was handed over keeps that mark.
  local at = left == -2 and redis.call('ZSCORE', queue, me)
  if not at or tonumber(at) >= 0 then take_place(queue, me, ARGV[3]) end
  if left == -2 and tell_first(lock, queue, me) == 2 then
    return {(i + 1) / 2, (i + 1) / 2, 'none', '', -2}
  end
end
return {0, (soonest + 1) / 2, held(KEYS[soonest])}
