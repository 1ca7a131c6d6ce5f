-- One step of a search for locks; changes nothing.
-- ARGV[1] cursor; ARGV[2] pattern; ARGV[3] COUNT of SCAN.
-- Returns {next cursor, number of keys that matched, number of those that may not be looked at, then the names of
-- those that may be locks: strings and sorted sets that expire, and are not what the library keeps beside locks; and
-- of other keys the one that the pattern names, and those that somebody waits for}.
local step = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local found = {step[1], #step[2], 0}
for _, key in ipairs(step[2]) do
  if string.sub(key, 1, 10) ~= 'redquorum:' then
    local kind = redis.pcall('TYPE', key)
    local left = redis.pcall('PTTL', key)
    if type(kind) ~= 'table' or kind['err'] or type(left) ~= 'number' then
      found[3] = found[3] + 1
    elseif left >= 0 and (kind['ok'] == 'string' or kind['ok'] == 'zset') or key == ARGV[2]
      or redis.pcall('EXISTS', 'redquorum:q:1:{' .. key .. '}') == 1 then
      found[#found + 1] = key
    end
  end
end
return found
