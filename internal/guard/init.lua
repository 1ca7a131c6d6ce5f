-- Declares a fleet because an operator says so; never part of start-up.
-- KEYS[1] marker; ARGV[1] version of the marker; ARGV[2] run_id; ARGV[3] MaxTTL in ms; ARGV[4] number of masters;
-- ARGV[5] level; for 'strict', else unused: ARGV[6] client's wall clock in us when this was sent; ARGV[7] greatest
-- skew in us; ARGV[8] how long the client waits for the reply, in us; ARGV[9] '1': also over a marker that is there; ARGV[10] the since of
-- a marker of this fleet and process that counts as none, since the one who asks has just had it written; '': none does.
-- Returns {verdict, TIME in us, v, run, since, maxttl, n, level}, 64 bytes of each: DECLARED votes at once (since = 0);
-- FORCED votes after its quarantine (since = now). PRESENT with the marker that is there, SKEW {verdict, TIME} and
-- TYPE {verdict, TIME, type} write nothing.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
if ARGV[5] == 'strict' and (now < ARGV[6] - ARGV[7] or now > ARGV[6] + ARGV[8] + ARGV[7]) then return {'SKEW', now} end

local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'none' and kind ~= 'hash' then return {'TYPE', now, kind} end
local verdict, since = 'DECLARED', '0'
if ARGV[9] == '1' then
  verdict, since = 'FORCED', string.format('%.0f', math.floor(now / 1000))
  redis.call('DEL', KEYS[1]) -- with what else is in it, and an expiry
elseif kind == 'hash' then
  local m = redis.call('HMGET', KEYS[1], 'v', 'run', 'since', 'maxttl', 'n', 'level')
  local function field(i) return string.sub(m[i] or '', 1, 64) end
  local own = ARGV[10] ~= '' and field(3) == ARGV[10] and field(2) == ARGV[2] and field(1) == ARGV[1]
    and field(4) == ARGV[3] and field(5) == ARGV[4] and field(6) == ARGV[5]
  if not own then return {'PRESENT', now, field(1), field(2), field(3), field(4), field(5), field(6)} end
end
redis.call('HSET', KEYS[1], 'v', ARGV[1], 'run', ARGV[2], 'since', since, 'maxttl', ARGV[3], 'n', ARGV[4], 'level', ARGV[5])
return {verdict, now, ARGV[1], ARGV[2], since, ARGV[3], ARGV[4], ARGV[5]}
