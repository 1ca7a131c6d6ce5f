-- Tells who holds a lock; changes nothing.
-- KEYS[1] lock. Returns {type, value or '', PTTL in ms}; the type is none for a missing key.
local kind = redis.call('TYPE', KEYS[1])['ok']
local value = ''
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 255) end
return {kind, value, redis.call('PTTL', KEYS[1])}
