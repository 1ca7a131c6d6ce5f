-- Sets several locks, all or none, in one step (invariant S3).
-- KEYS locks, each named once; ARGV[1] token; ARGV[2] TTL in ms.
-- Returns 1 all set, 0 any of the keys exists, whatever its type: then nothing is written.
if redis.call('EXISTS', unpack(KEYS)) > 0 then return 0 end
for _, key in ipairs(KEYS) do
  redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
end
return 1
