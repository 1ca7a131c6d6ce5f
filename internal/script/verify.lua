-- Checks whether the token is still ours; changes nothing.
-- KEYS[1] lock; ARGV[1] token. Returns 1 held, 0 held by another, 3 missing.
-- For the errors of GET see extend.lua.
local held = redis.pcall('GET', KEYS[1])
if held == ARGV[1] then return 1 end
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
if not held then return 3 end
return 0
