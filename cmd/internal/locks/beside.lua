-- Tells what stands beside locks; changes nothing.
-- KEYS locks. Returns for each: how many clients are in its queue, -1 where that may not be known; the highest
-- fencing token that was given, '' for none, '?' where that may not be known.
local found = {}
for _, key in ipairs(KEYS) do
  local waiting = redis.pcall('ZCOUNT', 'redquorum:q:1:{' .. key .. '}', '-inf', '+inf')
  if type(waiting) ~= 'number' then waiting = -1 end
  local fence = redis.pcall('GET', 'redquorum:fence:1:' .. key)
  if not fence then fence = '' end
  if type(fence) ~= 'string' then fence = '?' end
  found[#found + 1] = waiting
  found[#found + 1] = string.sub(fence, 1, 16)
end
return found
