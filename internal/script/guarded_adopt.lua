-- Puts a new token in the place of the one with which a hold was handed over, as an acquisition does that finds the lock
-- free: with a fencing token of its own, and a lease. Of several that adopt one token a master lets one in.
-- KEYS[1] lock; then KEYS the fence (fencing) and the lease record (strict); ARGV as in guarded.lua, the third the token
-- that is replaced.
-- Returns as in guarded.lua: 1 replaced, 0 held by another, 3 missing: then nothing is written.
if skewed() then return {5, 0, micros} end
local locks, fences, leases = names(1, 2)
return grant(locks, fences, leases, ARGV[at + 3])
