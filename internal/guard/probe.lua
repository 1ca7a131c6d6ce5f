-- Tries each command that a lock needs, on a key that does not exist, in a form that writes nothing. It is sent by
-- EVAL, after which EVALSHA finds it, and by EVALSHA. ARGV[1] '1': try the commands; else only EVALSHA is tried.
-- Returns the name and the error of each command that failed.
-- The key is not in KEYS, so the script also runs without permission for the key. ReadProbe judges such errors.
if ARGV[1] ~= '1' then return {} end
local key = 'redquorum:intent:1:redquorum:probe' -- no lock's name begins with redquorum:
local failed = {}
for _, command in ipairs({
  {'DEL', key}, {'EXISTS', key}, {'GET', key}, {'MGET', key}, {'PEXPIRE', key, 1}, {'PEXPIREAT', key, 1}, {'PTTL', key},
  {'SET', key, '', 'XX'}, {'TYPE', key}, {'ZADD', key, 'XX', 0, ''}, {'ZCOUNT', key, 0, 0}, {'ZRANGEBYSCORE', key, 0, 0},
  {'ZREM', key, ''}, {'ZREMRANGEBYSCORE', key, 0, 0}, {'ZREVRANGE', key, 0, 0}, {'ZREVRANGEBYSCORE', key, 0, 0}, {'ZSCORE', key, ''},
  {'TIME'}, -- last: Redis before 5.0 lets a script write nothing after it
}) do
  local reply = redis.pcall(unpack(command))
  if type(reply) == 'table' and reply.err then
    failed[#failed + 1] = command[1]
    failed[#failed + 1] = reply.err
  end
end
return failed
