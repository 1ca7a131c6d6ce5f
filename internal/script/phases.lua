-- Decides whose turn it is if readers and writers wait; it stands behind handover.lua. Waiting readers are a sorted set
-- beside the queue, with scores like the queue's. All are called at once, so each of them may have a mark. Phases of
-- readers and writers alternate: a waiter gets in after one phase of the others (phase-fair).

local function readers_of(queue) return queue .. ':readers' end

-- A key of another type at their name counts as no readers.
local function readers_wait(queue) return redis.call('TYPE', readers_of(queue))['ok'] == 'zset' end

local function mark(time) return string.format('%.0f', -(time + GRACE)) end

-- Calls all waiting readers. Returns 1 others, 2 this client too, 0 nobody was there. It drops clients without a
-- subscriber, and others that were called but did not come. This client is called, too: other calls of it may wait.
local function call_readers(lock, queue, me)
  local readers, time, found = readers_of(queue), now(), 0
  local all = redis.call('ZRANGE', readers, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do
    local client, receivers = all[i], 0
    if tonumber(all[i + 1]) >= 0 or client == me then
      receivers = redis.pcall('PUBLISH', 'redquorum:w:1:' .. client, 'redquorum:r:' .. lock)
      if client == me then receivers = 1 end
      if type(receivers) ~= 'number' then return found end -- PUBLISH may not be permitted
    end
    if receivers > 0 then
      redis.call('ZADD', readers, mark(time), client)
      found = math.max(found, client == me and 2 or 1)
    else
      redis.call('ZREM', readers, client)
    end
  end
  return found
end

-- Calls the clients whose turn it is, once: the lock is free. Returns 1 others, 2 this one, 0 nobody was there.
-- after is 'writer' if a writer has just released the lock: it is the readers' turn;
--   'reader' if the last reader has: it is a writer's turn;
--   'kept': a writer's turn as well, and a writer that waits elsewhere keeps readers out;
--   nil if it is not known who had the lock: the client that has waited longest comes first.
-- reading: the call is for readers of this client.
local function call_first(lock, queue, me, after, reading)
  local writer = not reading and me or '' -- '' is no client's id
  if not readers_wait(queue) then return call_writer(lock, queue, writer) end
  local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  local time, since = now(), tonumber(first[2]) -- since when the first writer waits; nil: none does
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
    if reading and not mine and not since and after ~= 'kept' then -- it joins the called readers
      redis.call('ZADD', readers, mark(time), me)
      mine = true
    end
    return reading and mine and 2 or 1
  end
  local reader = reading and me or ''
  if after == 'writer' or after == nil and (not since or longest <= math.abs(since)) then
    local successor = call_readers(lock, queue, reader)
    if successor > 0 then return successor end
    return call_writer(lock, queue, writer)
  end
  local successor = call_writer(lock, queue, writer)
  if successor > 0 or after == 'kept' then return successor end
  return call_readers(lock, queue, reader)
end

