-- Sets the first of several locks that is free, with a fencing token, or in strict (invariant S3).
-- KEYS locks in the order in which they are tried, then their fences (fencing), then their lease records (strict);
-- ARGV as in guarded.lua, the third unused.
-- Returns as in guarded.lua: 1 and fourth the number of the one that was set, counted from 1; 0 and 6 where none is free.
if skewed() then return {5, 0, micros} end
local n = count()
local locks, fences, leases = names(n, n + 1)
local refusal
for i = 1, n do
  local reply = grant({locks[i]}, {fences[i]}, {leases[i]})
  if not reply[1] then return reply end -- an error
  if reply[1] == 1 then
    reply[4] = i
    return reply
  end
  refusal = reply
end
return refusal
