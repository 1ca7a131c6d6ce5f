-- Stores the highest fencing token that a reader has met, where a fence has less: who reads or writes next is to meet it too.
-- KEYS fences; ARGV[1] token; ARGV[2] retention in ms. Returns 1 stored, or there was more; 0 what is there is no number.
-- Of any fence this is harmless: it rises, and nobody is given what it rises to.
for _, fence in ipairs(KEYS) do
  local value = redis.pcall('GET', fence)
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
  if value and (type(value) ~= 'string' or #value > 16 or not string.match(value, '^%d+$')) then return 0 end
  if not value or tonumber(value) < tonumber(ARGV[1]) then redis.call('SET', fence, ARGV[1], 'PX', ARGV[2]) end
end
return 1
