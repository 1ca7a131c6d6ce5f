-- Sets the first of several locks that is free, and no other (invariant S3).
-- KEYS locks, in the order in which they are tried; ARGV[1] token; ARGV[2] TTL in ms.
-- Returns the number of the one that was set, counted from 1; 0: all are there, of whatever type.
for i, key in ipairs(KEYS) do
  if redis.call('SET', key, ARGV[1], 'NX', 'PX', ARGV[2]) then return i end
end
return 0
