-- Stores the highest fencing token that a reader has seen, if a fence has less, so that the next holder sees it.
-- KEYS fences; ARGV[1] token; ARGV[2] retention in ms. Returns 1 each fence has as much at least, 0 one is no number.
-- This is harmless for any fence: it only rises, and no client is given the token to which it rises.
for _, fence in ipairs(KEYS) do
  local value = redis.pcall('GET', fence)
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
  if value and (type(value) ~= 'string' or #value > 16 or not string.match(value, '^%d+$')) then return 0 end
  if not value or tonumber(value) < tonumber(ARGV[1]) then redis.call('SET', fence, ARGV[1], 'PX', ARGV[2]) end
end
return 1
