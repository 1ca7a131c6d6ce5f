-- What the scripts that grant and prolong have in common where the lock is fenced (WithFencing) or the guard is strict.
-- It stands before each of them. The last seven arguments of all of them are, in this order:
--   token; TTL in ms; one of the script's own;
--   fencing: a number, '' for none: the least token to give, or the one that the lock has;
--   strict: the least and the most that this clock may say in us, '' for none;
--   retention of the fence and the lease record in ms.
-- Before them stands the last argument of the plain script where that has more, which is so for readers.
-- They reply {code, fencing token, TIME in us (0: not strict), ...}. The codes are those of the plain scripts, and these, with which
-- nothing is written: 5 this clock is off the client's; 6 {6, 0, TIME, ms left, token} the lock is leased to another.
local at = #ARGV - 7
local token, ttl = ARGV[at + 1], tonumber(ARGV[at + 2])
local fencing, number = ARGV[at + 4] ~= '', tonumber(ARGV[at + 4]) or 0
local strict, least, most = ARGV[at + 5] ~= '', tonumber(ARGV[at + 5]) or 0, tonumber(ARGV[at + 6]) or 0
local retention = ARGV[at + 7]
local micros = 0 -- this clock, in strict: otherwise nobody asks
if strict then
  local clock = redis.call('TIME')
  micros = clock[1] * 1000000 + clock[2]
end
local millis = math.floor(micros / 1000)

local function digits(n) return string.format('%.0f', n) end -- Lua itself would write 1.79e+15

local function skewed() return strict and (micros < least or micros > most) end

-- The names among KEYS of the locks, their fences and their lease records, n of each; those that are not used are not
-- there. from: where the fences begin.
local function names(n, from)
  local locks, fences, leases = {}, {}, {}
  for i = 1, n do
    locks[i] = KEYS[i]
    if fencing then fences[i] = KEYS[from + i - 1] end
    if strict then leases[i] = KEYS[#KEYS - n + i] end
  end
  return locks, fences, leases
end

-- How many locks there are, where KEYS has nothing else.
local function count() return #KEYS / (1 + (fencing and 1 or 0) + (strict and 1 or 0)) end

-- The highest token that a fence has given; nil and an error: it cannot be read, or what is there is none.
local LAST = 9007199254740991 -- 2^53 - 1: beyond, numbers are not told apart any more
local function bad_fence(fence)
  return redis.error_reply('FENCE what is at ' .. fence .. ' is not a number below 2^53 - 1')
end

local function given(fence)
  local value = redis.pcall('GET', fence)
  if not value then return 0 end
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return nil, value end
  if type(value) ~= 'string' or #value > 16 or not string.match(value, '^%d+$') then return nil, bad_fence(fence) end
  return tonumber(value)
end

-- What the fences of a lock that is prolonged have to store: what there is, or more. Of any lock that is held this is
-- harmless: no token falls by it. Returns that, what there is, and the highest of all; nil and an error.
local function kept(fences)
  local values, stored, highest = {}, {}, 0
  for i, fence in ipairs(fences) do
    local value, bad = given(fence)
    if not value then return nil, bad end
    stored[i], values[i] = value, math.max(value, number)
    highest = math.max(highest, values[i])
  end
  return values, stored, highest
end

-- Writes that.
local function keep(fences, values, stored)
  for i, fence in ipairs(fences) do
    if values[i] > stored[i] then
      redis.call('SET', fence, digits(values[i]), 'PX', retention)
    else
      redis.call('PEXPIRE', fence, retention)
    end
  end
end

-- A lease record is a sorted set: tokens by when their leases end, in ms of this clock; negative for a writer's. It
-- outlives the lock's key, which a jump of the clock deletes even if the clock is set right again.
-- Returns the reply where another's lease is in the way; only a writer's is in that of a reader. from: a token that is
-- replaced, whose lease is not; nil: none is.
local unleased = {} -- no record at all, which is usual for a lock that is free
local function leased(lease, reading, from)
  if redis.call('EXISTS', lease) == 0 then
    unleased[lease] = true
    return nil
  end
  local function other(found)
    for i = 1, #found, 2 do
      if found[i] ~= token and found[i] ~= from then
        return {6, 0, micros, math.abs(tonumber(found[i + 1])) - millis, string.sub(found[i], 1, 256)}
      end
    end
  end
  local writer = other(redis.call('ZRANGEBYSCORE', lease, '-inf', digits(-millis), 'WITHSCORES', 'LIMIT', 0, 3))
  if writer or reading then return writer end
  return other(redis.call('ZREVRANGEBYSCORE', lease, '+inf', digits(millis), 'WITHSCORES', 'LIMIT', 0, 3))
end

local function any_leased(leases, reading, from)
  for _, lease in ipairs(leases) do
    local taken = leased(lease, reading, from)
    if taken then return taken end
  end
end

-- Notes leases, and moves them, never to an earlier time. Those of others go only when they are over by the client's
-- clock as well: this one may be ahead by what the client is ready to wait, and by the skew that is allowed. By how
-- much is not said, but both are in what lies between least and most.
local function note(leases, reading, from)
  if not strict then return end
  local over = digits(math.floor(math.min(micros - (most - least), least) / 1000))
  for _, lease in ipairs(leases) do
    local ends = millis + ttl
    if not unleased[lease] then
      redis.call('ZREMRANGEBYSCORE', lease, '(-' .. over, '(' .. over)
      ends = math.max(ends, math.abs(tonumber(redis.call('ZSCORE', lease, token) or 0) or 0))
    end
    redis.call('ZADD', lease, digits(reading and ends or -ends), token)
    if from then redis.call('ZREM', lease, from) end
    redis.call('PEXPIRE', lease, retention)
  end
end

-- Grants all of the locks to a writer, or none: fences, leases, and last the locks, so that an error leaves no lock.
-- from: the token that has to stand where the one lock is, and that is replaced; nil: the locks have to be free.
local function grant(locks, fences, leases, from)
  local held = from and redis.pcall('GET', locks[1])
  if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  if held ~= from then return {held and 0 or 3, 0, micros} end
  if not from and redis.call('EXISTS', unpack(locks)) > 0 then return {0, 0, micros} end
  local taken = any_leased(leases, false, from)
  if taken then return taken end
  local f = number
  for _, fence in ipairs(fences) do
    local value, bad = given(fence)
    if not value then return bad end
    f = math.max(f, value + 1)
    if f >= LAST then return bad_fence(fence) end
  end
  local value = digits(f)
  for _, fence in ipairs(fences) do redis.call('SET', fence, value, 'PX', retention) end
  note(leases, false, from)
  for _, lock in ipairs(locks) do redis.call('SET', lock, token, 'PX', ARGV[at + 2]) end
  return {1, f, micros}
end

