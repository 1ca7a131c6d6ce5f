-- Acquires a plain lock on a master that is not judged yet: only where the marker has the client's settings, and the
-- fleet is not being moved.
-- KEYS[1] lock; KEYS[2] marker; ARGV[1] token; ARGV[2] TTL in ms; ARGV[3] version of the marker; ARGV[4] MaxTTL in ms;
-- ARGV[5] number of masters; ARGV[6] level; ARGV[7] number of the database.
-- Returns 1 acquired, 0 held by another, -1 another marker or none: nothing was written.
local m = redis.call('HMGET', KEYS[2], 'v', 'maxttl', 'n', 'level', 'db', 'to')
local want = {ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]}
for i, value in ipairs(want) do
  if m[i] ~= value then return -1 end
end
if m[6] and m[6] ~= '' then return -1 end
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
if held then return 0 end
redis.call('SET', KEYS[1], '', 'XX') -- writes nothing; a master without memory refuses it, as it does only the first write of a script
redis.call('DEL', KEYS[1]) -- it is not there; a user who may not look at it or delete it could not release it
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0
