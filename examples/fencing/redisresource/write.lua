-- Sets a value on behalf of the holder of a lock, unless a later holder has been here.
-- KEYS[1] resource, a hash; ARGV[1] fencing token; ARGV[2] owner; ARGV[3] 'claim' or 'write'; ARGV[4] value to write.
-- Returns {1, value as it stands now}; {0, highest token} to a stale holder, and nothing is written.
-- Tokens are below 2^53, which Lua's numbers hold exactly, and are stored as the text that was sent: Lua would
-- print large ones as 1.7e+15.
local seen = redis.call('HMGET', KEYS[1], 'fence', 'owner', 'value')
local last, token = tonumber(seen[1] or '0'), tonumber(ARGV[1])
local same = token == last and seen[2] == ARGV[2]
if not same and (token <= last or ARGV[3] == 'write') then return {0, seen[1] or '0'} end
if not same then redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'owner', ARGV[2]) end
if ARGV[3] ~= 'write' then return {1, seen[3] or ''} end
redis.call('HSET', KEYS[1], 'value', ARGV[4])
return {1, ARGV[4]}
