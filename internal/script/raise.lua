-- Raises the fences of a lock that is being acquired, if they gave less than the token that the acquisition needs.
-- KEYS locks, then their fences; ARGV[1] token of the owner; ARGV[2] what the fences gave; ARGV[3] the fencing token;
-- ARGV[4] retention in ms. Returns 1 raised, 0 if a lock is not ours or a fence has given more since.
-- To own the lock is not enough: an acquisition that runs twice owns it again after others (verification/fencing).
local n = #KEYS / 2
for i = 1, 2 * n do
  local value = redis.pcall('GET', KEYS[i])
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
  if value ~= (i <= n and ARGV[1] or ARGV[2]) then return 0 end
end
for i = n + 1, #KEYS do redis.call('SET', KEYS[i], ARGV[3], 'PX', ARGV[4]) end
return 1
