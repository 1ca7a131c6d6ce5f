-- Puts an operator's token in the place of a holder's, which keeps the time that is left.
-- KEYS[1] lock; ARGV[1] the holder's token; ARGV[2] the operator's.
-- Returns {code, PTTL in ms}: 1 replaced, 0 another token or type is there, 3 missing, 4 ours, but it never expires.
-- A key of another type makes GET fail: it is another's.
local held = redis.pcall('GET', KEYS[1])
if not held then return {3, 0} end
if held ~= ARGV[1] then return {0, 0} end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then return {4, 0} end
redis.call('SET', KEYS[1], ARGV[2], 'PX', math.max(left, 1))
return {1, left}
