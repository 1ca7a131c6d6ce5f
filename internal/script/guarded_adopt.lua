-- Replaces the token with which a hold was handed over by a new token. Like the acquisition of a free lock, this gives
-- a new fencing token and a lease. If several clients adopt the same token, a master grants it to one of them.
-- KEYS[1] lock; then KEYS the fence (fencing) and the lease record (strict); ARGV as in guarded.lua, the third the
-- token that is replaced.
-- Returns as in guarded.lua: 1 replaced, 0 held by another, 3 missing: then nothing is written.
if skewed() then return {5, 0, micros} end
local locks, fences, leases = names(1, 2)
return grant(locks, fences, leases, ARGV[at + 3])
