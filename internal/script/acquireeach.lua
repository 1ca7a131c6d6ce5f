-- Does for each of several locks, which have nothing to do with one another, what guarded_acquire.lua does (invariant S3).
-- KEYS locks, then the fences of the first ones, which are fenced, then the lease records of all (strict); ARGV for each
-- lock its token, TTL, floor, least and most as in guarded.lua, and then the retention.
-- Returns for each lock the three numbers that guarded_acquire.lua does, or -1, 0, 0 where it says something else: that
-- stands behind the numbers of all, in the same order.
-- Locks that are free and have no lease record are granted here, as guarded_free.lua does it; another one is left to what
-- is included. Whatever fails fails for its lock alone: others' may have been granted by then.
local keys, args, call = KEYS, ARGV, redis.call
local n = (#args - 1) / 5
local strict, retention = args[4] ~= '', args[#args]
local fences = #keys - (strict and 2 or 1) * n -- how many
local micros = 0
if strict then
  local clock = call('TIME')
  micros = clock[1] * 1000000 + clock[2]
end

-- What is in the way of one, nearly always nothing of all.
local all = {unpack(keys, 1, n)}
if strict then for i = 1, n do all[n + i] = keys[#keys - n + i] end end
local nothing = call('EXISTS', unpack(all)) == 0
local given = fences > 0 and call('MGET', unpack(keys, n + 1, n + fences)) or {} -- false also for what is no string
local met = {} -- a lock may be there twice, for two who want it

local function may_grant(i, a)
  local lock = keys[i]
  if met[lock] then return false end
  met[lock] = true
  if not nothing and call('EXISTS', lock, strict and keys[#keys - n + i] or lock) > 0 then return false end
  if strict and not (micros - args[a + 3] >= 0 and args[a + 4] - micros >= 0) then return false end
  if i > fences then return true end
  local floor, value = tonumber(args[a + 2]), given[i]
  if not value then return floor < 9007199254740991 and call('EXISTS', keys[n + i]) == 0 end
  value = #value == 16 and tonumber(value) or 0
  return value >= 1000000000000000 and value % 1 == 0 and value < floor and floor < 9007199254740991
end

-- The error, if one of the commands has failed: those behind it are not tried.
local function failed(reply) return type(reply) == 'table' and reply['err'] and reply end

-- When a lease of that many ms ends, as text: Lua itself would write a number for each lock anew, which takes longer.
local scores = {}
local function score(ttl)
  scores[ttl] = scores[ttl] or string.format('%.0f', (micros % 1000 - micros) / 1000 - ttl)
  return scores[ttl]
end

local function grant(i, a)
  local lease = strict and keys[#keys - n + i]
  return i <= fences and failed(redis.pcall('SET', keys[n + i], args[a + 2], 'PX', retention))
    or strict and (failed(redis.pcall('ZADD', lease, score(args[a + 1]), args[a])) or failed(redis.pcall('PEXPIRE', lease, retention)))
    or failed(redis.pcall('SET', keys[i], args[a], 'PX', args[a + 1]))
end

-- include guarded_acquire.lua

local function alone(i, a)
  local its = {keys[i], i <= fences and keys[n + i] or nil}
  if strict then its[#its + 1] = keys[#keys - n + i] end
  local ok, reply = pcall(acquire, its, {args[a], args[a + 1], '0', args[a + 2], args[a + 3], args[a + 4], retention})
  if ok or type(reply) == 'table' then return reply end
  return redis.error_reply((string.match(reply, '^%u+ ') and '' or 'ERR ') .. reply)
end

local numbers, others = {}, {}
local r = 0
for i = 1, n do
  local a = 5 * i - 4
  local other
  if may_grant(i, a) then
    other = grant(i, a)
    if not other then numbers[r + 1], numbers[r + 2], numbers[r + 3] = 1, i <= fences and tonumber(args[a + 2]) or 0, micros end
  else
    other = alone(i, a)
    if #other == 3 then numbers[r + 1], numbers[r + 2], numbers[r + 3], other = other[1], other[2], other[3], nil end
  end
  if other then
    numbers[r + 1], numbers[r + 2], numbers[r + 3] = -1, 0, 0
    others[#others + 1] = other
  end
  r = r + 3
end
for i, other in ipairs(others) do numbers[r + i] = other end
return numbers
