-- Says whether a master is the one that was judged; the end of every flush that carries votes. Changes nothing.
-- KEYS[1] marker. Returns its {run, since, replid, db}; {} where it is no master, or its data has another history than
-- the marker. A resynchronisation copies the marker, and leaves the process and the connection as they are.
local info = redis.pcall('INFO', 'replication')
local m = redis.call('HMGET', KEYS[1], 'run', 'since', 'replid', 'db')
if type(info) ~= 'string' then return m end -- not permitted: it was judged without
if string.find(info, 'role:master', 1, true) and m[3] and string.find(info, 'master_replid:' .. m[3], 1, true) then return m end
return {}
