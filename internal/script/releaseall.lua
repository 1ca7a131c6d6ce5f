-- Deletes those of several locks that have our token (invariant S4).
-- KEYS locks; ARGV[1] token. Returns 1 all deleted, 0 any held by another, 3 otherwise: some are missing.
local values = redis.call('MGET', unpack(KEYS)) -- false for a key that is missing or not a string
local ours, missing, taken = {}, {}, false
for i, key in ipairs(KEYS) do
  if values[i] == ARGV[1] then
    ours[#ours + 1] = key
  elseif values[i] then
    taken = true
  else
    missing[#missing + 1] = key
  end
end
if #ours > 0 then redis.call('DEL', unpack(ours)) end
if taken or #missing > 0 and redis.call('EXISTS', unpack(missing)) > 0 then return 0 end
if #missing > 0 then return 3 end
return 1
