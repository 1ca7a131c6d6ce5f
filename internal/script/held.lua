-- The common part of the scripts that say who holds a lock, which include it.

-- Returns the type of a lock's key (none if it is missing), its value or '', and its PTTL in ms. The value of a set of
-- readers (see reader_acquire.lua) is their number. A sorted set that does not expire with its last member is not one.
local function held(lock)
  local kind, left, value = redis.call('TYPE', lock)['ok'], redis.call('PTTL', lock), ''
  if kind == 'string' then value = redis.call('GETRANGE', lock, 0, 255) end
  if kind == 'zset' and left > 0 then
    local t = redis.call('TIME')
    local now = t[1] * 1000 + math.floor(t[2] / 1000)
    local last = tonumber(redis.call('ZREVRANGE', lock, 0, 0, 'WITHSCORES')[2]) or 0
    if math.abs(last - now - left) <= 1000 then
      value = tostring(redis.call('ZCOUNT', lock, string.format('%.0f', now), '+inf'))
    end
  end
  return kind, value, left
end
