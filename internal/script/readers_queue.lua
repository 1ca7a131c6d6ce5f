-- The operations of readers at a lock's pilot; queue.lua is for writers. They do not decide who holds the lock.
-- KEYS[1] lock; KEYS[2] queue, of writers; KEYS[3] waiting writers, as in reader_acquire.lua; ARGV[1] what to do;
-- ARGV[2] id of the client; then
--   wait: ARGV[3] score, as in queue.lua. Keeps the client among the waiting readers, and hands over if the lock is
--     free. Returns what wait of queue.lua does. The client may try if it is called, or if readers hold the lock and no
--     writer waits. If a waiting writer keeps it out, the reply has the type intent, without expiry.
--   leave: removes the client, and hands over if the lock is free. Returns 1.
--   admit: a writer has given up. Hands over if the lock is free; calls the waiting readers if readers hold the lock
--     and no other writer keeps them out. Returns 1.
local lock, queue, me = KEYS[1], KEYS[2], ARGV[2]

-- include handover.lua

-- include held.lua

-- include intents.lua

local readers = readers_of(queue)
local kind, value, left = held(lock)
local kept = writers_wait(KEYS[3])

if ARGV[1] == 'leave' then
  redis.call('ZREM', readers, me)
  if kind == 'none' then call_first(lock, queue, '', kept and 'kept' or nil) end -- it asks for nothing itself
  return 1
end

if ARGV[1] == 'admit' then
  if kind == 'none' then call_first(lock, queue, '', kept and 'kept' or nil) end
  if kind == 'zset' and readers_wait(queue) and not kept then call_readers(lock, queue, '') end
  return 1
end

local score, at = ARGV[3], tonumber(redis.call('ZSCORE', readers, me) or '')
local called = at and stands(at, now()) and (kind == 'none' or kind == 'zset')
if not called then score = join_queue(readers, me, score) end -- a called client keeps its mark
local go = called
if kind == 'none' then
  go = call_first(lock, queue, me, kept and 'kept' or nil, true) == 2
elseif kind == 'zset' and value ~= '' then
  go = called or not kept
end
if kept and not go and (kind == 'none' or kind == 'zset') then return {0, score, 1, 'intent', '', -1} end
return {go and 1 or 0, score, 1, kind, value, left}
