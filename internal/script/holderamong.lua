-- Tells who holds one of several locks; changes nothing.
-- KEYS locks; the reply is about the lock that expires last.
-- Returns {type, value or '', PTTL in ms, key}, see held.lua.

-- include held.lua

local key, best
for _, k in ipairs(KEYS) do
  local ms = redis.call('PTTL', k) -- -2: missing, -1: it never expires
  local rank = ms
  if ms == -1 then rank = math.huge end
  if not key or rank > best then
    key, best = k, rank
  end
end
local kind, value, left = held(key)
return {kind, value, left, key}
