-- Sets one or several locks, all or none, in one step (invariant S3), with a fencing token or in strict.
-- KEYS locks, then their fences (fencing), then their lease records (strict); ARGV as in guarded.lua, 3rd unused.
-- Returns as in guarded.lua: 1 set, 0 any of the locks exists, whatever its type: then nothing is written.
if skewed() then return {5, 0, micros} end
local n = count()
return grant(names(n, n + 1))
