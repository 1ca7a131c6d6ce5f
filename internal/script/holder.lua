-- Tells who holds a lock; changes nothing.
-- KEYS[1] lock. Returns {type, value or '', PTTL in ms}, see held.lua.

-- include held.lua

return {held(KEYS[1])}
