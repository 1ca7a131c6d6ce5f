-- Checks whether the token is still ours in several locks; changes nothing.
-- KEYS locks; ARGV[1] token. Returns 1 all held, 0 any held by another, 3 otherwise: some are missing.
local values = redis.call('MGET', unpack(KEYS)) -- false for a key that is missing or not a string
local missing = {}
for i, key in ipairs(KEYS) do
  if not values[i] then
    missing[#missing + 1] = key
  elseif values[i] ~= ARGV[1] then
    return 0
  end
end
if #missing == 0 then return 1 end
if redis.call('EXISTS', unpack(missing)) > 0 then return 0 end
return 3
