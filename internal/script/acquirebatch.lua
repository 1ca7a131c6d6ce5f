-- Does for each of several independent locks what guarded_acquire.lua does for one (invariant S3).
-- KEYS locks, then the fences of the first ones (those that are fenced), then the lease records of all (strict); ARGV
-- for each lock the first six arguments of guarded.lua, and after those of all locks the retention.
-- Returns for each lock the three numbers of guarded_acquire.lua, with 0 for a fencing token that is the proposed one;
-- or -1, 0, 0 for any other reply: those replies follow the numbers of all locks, in the same order.
-- Locks that are free and have no lease record are granted here, as in guarded_free.lua; the included script handles
-- the others. An error affects its lock alone: other locks may have been granted by then.
local keys, args, call = KEYS, ARGV, redis.call
local n = (#args - 1) / 6
local strict, retention = args[5] ~= '', args[#args]
local fences = #keys - (strict and 2 or 1) * n -- their number
local micros, now = 0, '' -- now: the same as text
if strict then
  local clock = call('TIME')
  micros = clock[1] * 1000000 + clock[2]
  now = clock[1] .. string.sub('000000', #clock[2] + 1) .. clock[2]
end

-- One EXISTS for all locks: nearly always nothing is in the way of any.
local all = {unpack(keys, 1, n)}
if strict then for i = 1, n do all[n + i] = keys[#keys - n + i] end end
local nothing = call('EXISTS', unpack(all)) == 0
local given = fences > 0 and call('MGET', unpack(keys, n + 1, n + fences)) or {} -- false also for a key of another type

-- Reports whether a fence can give the token that the client proposes. Nearly always it can: there is no fence yet, or
-- it has given less. Whole numbers of equal length compare like their texts, which is faster than to convert them.
local find = string.find
local function gives(value, floor, fence)
  if #floor > 16 or #floor == 16 and floor >= '9007199254740991' then return false end -- 2^53 - 1
  if not value then return call('EXISTS', fence) == 0 end
  return #value == #floor and value < floor and not find(value, '%D')
end

-- The score of a writer's lease with this TTL in ms, as text. To format it for each lock anew takes longer.
local scores = {}
local function score(ttl)
  scores[ttl] = string.format('%.0f', (micros % 1000 - micros) / 1000 - ttl)
  return scores[ttl]
end

-- include guarded_acquire.lua

local function alone(i, a)
  local its = {keys[i], i <= fences and keys[n + i] or nil}
  if strict then its[#its + 1] = keys[#keys - n + i] end
  local ok, reply = pcall(acquire, its, {args[a], args[a + 1], args[a + 2], args[a + 3], args[a + 4], args[a + 5], retention})
  if ok or type(reply) == 'table' then return reply end
  return redis.error_reply((string.match(reply, '^%u+ ') and '' or 'ERR ') .. reply)
end

local leases = #keys - n
local met = {} -- a lock may be there twice, for two callers
local numbers, others = {}, {}
local r, a = 0, 1
for i = 1, n do
  local lock, token, ttl, floor, least, most = keys[i], args[a], args[a + 1], args[a + 3], args[a + 4], args[a + 5]
  local fence, lease = i <= fences and keys[n + i], strict and keys[leases + i]
  local other -- a reply that is not three numbers
  if not met[lock] and (nothing or call('EXISTS', lock, lease or lock) == 0)
    and (not strict or least <= now and now <= most and #least == #now and #most == #now)
    and (not fence or gives(given[i], floor, fence)) then
    -- After a failed write the next ones are not tried.
    local done
    if fence then
      done = redis.pcall('SET', fence, floor, 'PX', retention)
      if done.err then other = done end
    end
    if strict and not other then
      done = redis.pcall('ZADD', lease, scores[ttl] or score(ttl), token)
      if done == 1 then done = redis.pcall('PEXPIRE', lease, retention) end
      if done ~= 1 then other = done end
    end
    if not other then
      done = redis.pcall('SET', lock, token, 'PX', ttl)
      if done.err then other = done end
    end
    numbers[r + 1], numbers[r + 2], numbers[r + 3] = 1, 0, micros
  else
    other = alone(i, a)
    if #other == 3 then numbers[r + 1], numbers[r + 2], numbers[r + 3], other = other[1], other[2], other[3], nil end
  end
  met[lock] = true
  if other then
    numbers[r + 1], numbers[r + 2], numbers[r + 3] = -1, 0, 0
    others[#others + 1] = other
  end
  r, a = r + 3, a + 6
end
for i, other in ipairs(others) do numbers[r + i] = other end
return numbers
