-- Tells who holds one of several locks; changes nothing.
-- KEYS locks; ARGV[1] 'last': the one that is held longest; otherwise the one that is free soonest.
-- Returns {type, value or '', PTTL in ms, key}; the type is none for a missing key.
-- The value of a set of readers (see reader_acquire) is their number.
local key, left, best
for _, k in ipairs(KEYS) do
  local ms = redis.call('PTTL', k) -- -2: missing, -1: it never expires
  local rank = ms
  if ms == -1 then rank = math.huge end
  if not key or (ARGV[1] == 'last' and rank > best) or (ARGV[1] ~= 'last' and rank < best) then
    key, left, best = k, ms, rank
  end
end
local kind = redis.call('TYPE', key)['ok']
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', key, 0, 255) end
if kind == 'zset' and left > 0 then
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local last = tonumber(redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]) or 0
  if math.abs(last - now - left) <= 1000 then
    value = tostring(redis.call('ZCOUNT', key, string.format('%.0f', now), '+inf'))
  end
end
return {kind, value, left, key}
