-- Whose turn it is where readers wait beside writers; it stands behind handover.lua. Readers that wait are a sorted set
-- beside the queue, of clients by the same scores. They are called all at once, so each of them may have a mark. Phases of
-- readers and writers alternate: whoever waits is let in after one phase of the others (phase-fair).

local function readers_of(queue) return queue .. ':readers' end

-- Something else at their name is none.
local function readers_wait(queue) return redis.call('TYPE', readers_of(queue))['ok'] == 'zset' end

local function mark(time) return string.format('%.0f', -(time + GRACE)) end

-- Tells all readers that wait that they may try: 1 others, 2 this client too, 0 nobody was there. Those that nobody
-- receives for are dropped, and those that were called before and did not come. This client is told as well: several
-- calls of it may wait.
local function tell_readers(lock, queue, me)
  local readers, time, found = readers_of(queue), now(), 0
  local all = redis.call('ZRANGE', readers, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do
    local client, told = all[i], 0
    if tonumber(all[i + 1]) >= 0 or client == me then
      told = redis.pcall('PUBLISH', 'redquorum:w:1:' .. client, 'redquorum:r:' .. lock)
      if client == me then told = 1 end
      if type(told) ~= 'number' then return found end -- may not be permitted
    end
    if told > 0 then
      redis.call('ZADD', readers, mark(time), client)
      found = math.max(found, client == me and 2 or 1)
    else
      redis.call('ZREM', readers, client)
    end
  end
  return found
end

-- Tells whose turn it is, once, that the lock is free: 1 other clients, 2 this one, 0 nobody was there. after: 'writer'
-- where one has just released the lock: it is the readers' turn; 'reader' where the last of them has: it is a writer's;
-- 'kept': the same, and a writer that waits elsewhere keeps readers out; nil: it is not known who had the lock, and the
-- client comes first that waits longest. reading: it is this client's readers that ask.
local function tell_first(lock, queue, me, after, reading)
  local writer = not reading and me or '' -- no client's id
  if not readers_wait(queue) then return tell_writer(lock, queue, writer) end
  local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  local time, since = now(), tonumber(first[2]) -- since when a writer waits; nil: none does
  if since and stands(since, time) then return first[1] == writer and 2 or 1 end
  local readers = readers_of(queue)
  local called, mine, longest = false, false, math.huge
  local all = redis.call('ZRANGE', readers, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do
    local score = tonumber(all[i + 1])
    if stands(score, time) then
      called = true
      mine = mine or all[i] == me
    elseif score >= 0 then
      longest = math.min(longest, score)
    end
  end
  if called then
    if reading and not mine and not since and after ~= 'kept' then -- it joins them
      redis.call('ZADD', readers, mark(time), me)
      mine = true
    end
    return reading and mine and 2 or 1
  end
  local reader = reading and me or ''
  if after == 'writer' or after == nil and (not since or longest <= math.abs(since)) then
    local told = tell_readers(lock, queue, reader)
    if told > 0 then return told end
    return tell_writer(lock, queue, writer)
  end
  local told = tell_writer(lock, queue, writer)
  if told > 0 or after == 'kept' then return told end
  return tell_readers(lock, queue, reader)
end

