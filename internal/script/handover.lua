-- What scripts that look into queues share; it is put into them where they say so. See queue.lua.

local EXPIRY = 30000  -- ms, of a queue
local GRACE = 250000  -- µs that a client has to come for a lock that was handed to it: its mark counts within them only

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- Whether a mark counts: one that is later is from before this clock was set back.
local function stands(score, time) return score < 0 and -score > time and -score <= time + GRACE end

-- Tells the first client of a queue that the lock is free, once: 1 another one, 2 this one, 0 nobody was there.
-- Clients that nobody receives for are dropped, not more than 16 at a time. PUBLISH may not be permitted.
local function tell_writer(lock, queue, me)
  for _ = 1, 16 do
    local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    local client, score = first[1], tonumber(first[2])
    if not client then return 0 end
    local time = now()
    local told = 1
    if score < 0 then
      if client == me then return 2 end
      if stands(score, time) then return 1 end
      told = 0
    elseif client ~= me then
      told = redis.pcall('PUBLISH', 'redquorum:w:1:' .. client, lock)
      if type(told) ~= 'number' then return 0 end
    end
    if told > 0 then
      redis.call('ZADD', queue, string.format('%.0f', -(time + GRACE)), client)
      return client == me and 2 or 1
    end
    redis.call('ZREM', queue, client)
  end
  return 0
end

-- Puts the client into a queue, or back to where it was. Returns its score. score is that of before, '' for
-- none, or '+' and for how many µs the client has waited already. Nobody came later than now: a score that says so is
-- from before this clock was set back, and would stand behind all who come for as long as that was.
local function take_place(queue, me, score)
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
