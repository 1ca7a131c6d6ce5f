-- Sets one lock or several, all of them or none, with a fencing token, or in strict, in one step (invariant S3).
-- KEYS locks, then their fences (fencing), then their lease records (strict); ARGV as in guarded.lua, the third unused.
-- Returns as in guarded.lua: 1 set, 0 where any of the locks is there, whatever its type: then nothing is written.
if skewed() then return {5, 0, micros} end
local n = count()
return grant(names(n, n + 1))
