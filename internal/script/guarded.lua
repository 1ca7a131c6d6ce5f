-- The common part of the scripts that grant and extend locks with a fencing token (WithFencing) or in strict. It stands
-- before each of them. The last seven arguments of all of them are, in this order:
--   token; TTL in ms; one argument of the script's own;
--   fencing: a number, '' for none: the least token to give, or the token that the lock has;
--   strict: the least and the most that this clock may say, in us, '' for none;
--   retention of the fence and the lease record in ms.
-- Other arguments come before these: for readers the longest TTL of all clients in ms, for queue.lua its first three.
-- They reply {code, fencing token, TIME in us (0: not strict), ...}, with the codes of the plain scripts, or with
-- these, and then nothing is written:
--   5 this clock differs too much from the client's; 6 {6, 0, TIME, ms left, token} the lock is leased to another.
local at = #ARGV - 7
local token, ttl = ARGV[at + 1], tonumber(ARGV[at + 2])
local fencing, number = ARGV[at + 4] ~= '', tonumber(ARGV[at + 4]) or 0
local strict, least, most = ARGV[at + 5] ~= '', tonumber(ARGV[at + 5]) or 0, tonumber(ARGV[at + 6]) or 0
local retention = ARGV[at + 7]
local micros = 0 -- this clock, read in strict only
if strict then
  local clock = redis.call('TIME')
  micros = clock[1] * 1000000 + clock[2]
end
local millis = math.floor(micros / 1000)

local function digits(n) return string.format('%.0f', n) end -- Lua itself would write 1.79e+15

local function skewed() return strict and (micros < least or micros > most) end

-- Returns n locks, their fences and their lease records from KEYS. Unused ones are empty. from: where the fences begin.
local function names(n, from)
  local locks, fences, leases = {}, {}, {}
  for i = 1, n do
    locks[i] = KEYS[i]
    if fencing then fences[i] = KEYS[from + i - 1] end
    if strict then leases[i] = KEYS[#KEYS - n + i] end
  end
  return locks, fences, leases
end

-- Returns the number of locks, where KEYS has nothing but locks, fences and lease records.
local function count() return #KEYS / (1 + (fencing and 1 or 0) + (strict and 1 or 0)) end

local LAST = 9007199254740991 -- 2^53 - 1: Lua cannot tell larger whole numbers apart
local function bad_fence(fence)
  return redis.error_reply('FENCE what is at ' .. fence .. ' is not a number below 2^53 - 1')
end

-- Returns the highest token that a fence has given, 0 for none; nil and an error if it cannot be read or is no token.
local function given(fence)
  local value = redis.pcall('GET', fence)
  if not value then return 0 end
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return nil, value end
  if type(value) ~= 'string' or #value > 16 or not string.match(value, '^%d+$') then return nil, bad_fence(fence) end
  return tonumber(value)
end

-- Returns what the fences of an extended lock have to store (the stored token, or number if that is higher), what they
-- store now, and the highest of all; or nil and an error. For a held lock this is harmless: no token becomes lower.
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

-- Writes what kept has returned. A fence whose token stays has its expiry renewed.
local function keep(fences, values, stored)
  for i, fence in ipairs(fences) do
    if values[i] > stored[i] then
      redis.call('SET', fence, digits(values[i]), 'PX', retention)
    else
      redis.call('PEXPIRE', fence, retention)
    end
  end
end

-- A lease record is a sorted set of tokens, by when their leases end, in ms of this clock; negative for a writer. It
-- outlives the lock's key, which a jump of the clock deletes even if the clock is set right again.
-- Returns the reply if another's lease is in the way; only a writer's lease is in the way of a reader. from is a token
-- that is being replaced, whose lease does not count; nil: none is.
local unleased = {} -- lease records that do not exist, as is usual for a free lock
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

-- Writes our leases, and never moves one to an earlier time. It removes the leases of others only when they have ended
-- by the client's clock as well. This clock may be ahead by the client's waiting time and by the allowed skew. The
-- script does not know them, but most - least covers both.
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

-- Grants all locks to a writer, or none. It writes the fences, then the leases, and the locks last, so that an error
-- leaves no lock. from is the token that the only lock must have, and that is replaced; nil: the locks must be free.
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

