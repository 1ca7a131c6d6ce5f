-- Tells who holds a lock; changes nothing.
-- KEYS[1] lock. Returns {type, value or '', PTTL in ms}; the type is none for a missing key.
-- The value of a set of readers (see reader_acquire) is their number.
local kind = redis.call('TYPE', KEYS[1])['ok']
local left = redis.call('PTTL', KEYS[1])
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 255) end
if kind == 'zset' and left > 0 then
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local last = tonumber(redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or 0
  if math.abs(last - now - left) <= 1000 then
    value = tostring(redis.call('ZCOUNT', KEYS[1], string.format('%.0f', now), '+inf'))
  end
end
return {kind, value, left}
