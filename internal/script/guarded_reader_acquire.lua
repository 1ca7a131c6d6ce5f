-- Does what reader_acquire.lua does (the function plain), for a reader that asks for the writers' token, or in strict.
-- KEYS[1] lock; KEYS[2] waiting writers; then KEYS the fence (fencing) and the lease record (strict);
-- ARGV the longest TTL of all clients in ms, then as in guarded.lua, the third as the fourth of reader_acquire.lua.
-- Returns as in guarded.lua, with the codes of reader_acquire.lua. The token is the writers' highest; it is not raised.
if skewed() then return {5, 0, micros} end
local _, fences, leases = names(1, 3)
local taken = any_leased(leases, true)
if taken then return taken end
local f = 0
if fencing then
  f = given(fences[1])
  if not f then return bad_fence(fences[1]) end
end
local code = plain(KEYS, {token, ARGV[at + 2], ARGV[at], ARGV[at + 3]})
if code == 1 then note(leases, true) end
return {code, f, micros}
