-- Extends as the plain script before it does (the function plain), for a lock with a fencing token or in strict.
-- KEYS locks, then their fences (fencing), then their lease records (strict); ARGV as in guarded.lua, the third as in
-- the plain script. The local reading, set before this, is true for readers.
-- Returns as in guarded.lua, with the codes of the plain script. The token is the highest: the lock's or a fence's.
if skewed() then return {5, 0, micros} end
local n = count()
local locks, fences, leases = names(n, n + 1)
local taken = any_leased(leases, reading)
if taken then return taken end
local values, stored, highest = kept(fences)
if not values then return stored end -- an error
-- The lock comes first: a full master does not refuse its PEXPIRE, and then refuses no other write of the script.
local code = plain(locks, {token, ARGV[at + 2], ARGV[at + 3], ARGV[at]})
if type(code) ~= 'number' then return code end -- an error
if code == 1 or code == 2 then
  keep(fences, values, stored)
  note(leases, reading)
end
return {code, highest, micros}
