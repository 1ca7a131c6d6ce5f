-- Judges the marker of a master's incarnation when it is dialled, and writes it where that is due.
-- KEYS[1] marker; ARGV[1] version of the marker; ARGV[2] run_id; ARGV[3] MaxTTL in ms; ARGV[4] number of masters;
-- ARGV[5] level; for 'strict', else unused: ARGV[6] client's wall clock in us when this was sent; ARGV[7] greatest
-- skew in us; ARGV[8] how long the client waits for the reply, in us.
-- Returns {verdict, TIME in us, v, run, since, maxttl, n, level}: the marker as it stands now, '' for what it lacks,
-- 64 bytes of each. The verdicts SKEW {verdict, TIME} and TYPE {verdict, TIME, type}, CONFIG and MISSING write nothing.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local ms = string.format('%.0f', math.floor(now / 1000))
local strict = ARGV[5] == 'strict'
if strict and (now < ARGV[6] - ARGV[7] or now > ARGV[6] + ARGV[8] + ARGV[7]) then return {'SKEW', now} end

local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then
  if not strict then return {'MISSING', now, '', '', '', '', '', ''} end
  redis.call('HSET', KEYS[1], 'v', ARGV[1], 'run', ARGV[2], 'since', ms, 'maxttl', ARGV[3], 'n', ARGV[4], 'level', ARGV[5])
  return {'CREATED', now, ARGV[1], ARGV[2], ms, ARGV[3], ARGV[4], ARGV[5]}
end
if kind ~= 'hash' then return {'TYPE', now, kind} end

local m = redis.call('HMGET', KEYS[1], 'v', 'run', 'since', 'maxttl', 'n', 'level')
local function field(i) return string.sub(m[i] or '', 1, 64) end
local v, run, since, maxttl, n, level = field(1), field(2), field(3), field(4), field(5), field(6)
if v ~= ARGV[1] or maxttl ~= ARGV[3] or n ~= ARGV[4] or level ~= ARGV[5] then
  return {'CONFIG', now, v, run, since, maxttl, n, level}
end

-- An expiry that somebody gave it would make a fleet that holds locks look new.
if redis.call('PTTL', KEYS[1]) >= 0 then redis.call('PERSIST', KEYS[1]) end
local verdict = 'SAME'
if run ~= ARGV[2] then
  verdict = 'RESTARTED'
elseif not string.match(since, '^%d+$') or #since > 15 or tonumber(since) > tonumber(ms) then
  verdict = 'RESET' -- in the future, or no time at all
end
if verdict ~= 'SAME' then
  redis.call('HSET', KEYS[1], 'run', ARGV[2], 'since', ms)
  run, since = ARGV[2], ms
end
return {verdict, now, v, run, since, maxttl, n, level}
