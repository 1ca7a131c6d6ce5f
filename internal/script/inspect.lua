-- Tells who holds a lock of any kind; changes nothing.
-- KEYS[1] lock; ARGV[1] how many readers to list at most.
-- Returns {type, PTTL in ms, value or '', number of readers, then token and ms left of each reader listed}.
-- The type is none for a missing key. Readers are the members of a sorted set whose score, in ms, is later than this
-- master's clock; those that expire last come first. Values and tokens are cut at 256 bytes.
local kind = redis.call('TYPE', KEYS[1])['ok']
local found = {kind, redis.call('PTTL', KEYS[1]), '', 0}
if kind == 'string' then
  found[3] = redis.call('GETRANGE', KEYS[1], 0, 255)
elseif kind == 'zset' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local alive = string.format('(%.0f', now)
  found[4] = redis.call('ZCOUNT', KEYS[1], alive, '+inf')
  local readers = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', alive, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
  local year = 31536000000 -- a score may be infinite
  for i = 1, #readers, 2 do
    found[#found + 1] = string.sub(readers[i], 1, 256)
    found[#found + 1] = math.min((tonumber(readers[i + 1]) or now + year) - now, year)
  end
end
return found
