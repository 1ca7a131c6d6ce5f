-- The common part of the scripts that use queues, which include it. See queue.lua.

local EXPIRY = 30000  -- ms, of a queue
local GRACE = 250000  -- µs that a called client has to take the lock: its mark counts only that long

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- Reports whether a mark counts. One further ahead than GRACE was written before this clock was set back.
local function stands(score, time) return score < 0 and -score > time and -score <= time + GRACE end

-- Calls the first client of a queue, once: the lock is free. Returns 1 another client, 2 this one, 0 nobody was there.
-- It drops clients without a subscriber or with a mark that has ended, 16 at most. PUBLISH may not be permitted.
local function call_writer(lock, queue, me)
  for _ = 1, 16 do
    local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    local client, score = first[1], tonumber(first[2])
    if not client then return 0 end
    local time = now()
    local receivers = 1
    if score < 0 then
      if client == me then return 2 end
      if stands(score, time) then return 1 end
      receivers = 0
    elseif client ~= me then
      receivers = redis.pcall('PUBLISH', 'redquorum:w:1:' .. client, lock)
      if type(receivers) ~= 'number' then return 0 end
    end
    if receivers > 0 then
      redis.call('ZADD', queue, string.format('%.0f', -(time + GRACE)), client)
      return client == me and 2 or 1
    end
    redis.call('ZREM', queue, client)
  end
  return 0
end

-- Puts the client into a queue, or back to its earlier position, and returns its score. score is the earlier one, ''
-- for none, or '+' and for how many µs the client has waited already. A score later than now is cut to now: it was
-- written before this clock was set back, and the client would stay behind all newcomers until that time.
local function join_queue(queue, me, score)
  local at, time = tonumber(redis.call('ZSCORE', queue, me) or ''), now()
  local place = at
  if not at or at < 0 then
    place = time
    if string.sub(score, 1, 1) == '+' then
      place = math.max(0, time - tonumber(score))
    elseif score ~= '' then
      place = tonumber(score)
    end
  end
  place = math.min(place, time)
  score = string.format('%.0f', place)
  if place ~= at then redis.call('ZADD', queue, score, me) end
  redis.call('PEXPIRE', queue, EXPIRY)
  return score
end
