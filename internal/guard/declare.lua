-- Makes one master of a new fleet vote at once: a marker with since = 0, where none is.
-- KEYS[1] marker; ARGV[1] version of the marker; ARGV[2] run_id; ARGV[3] MaxTTL in ms; ARGV[4] number of masters;
-- ARGV[5] level.
-- Returns {verdict, TIME in us, v, run, since, maxttl, n, level}: DECLARED; or {'PRESENT', TIME} and nothing is written.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
if redis.call('EXISTS', KEYS[1]) == 1 then return {'PRESENT', now} end
redis.call('HSET', KEYS[1], 'v', ARGV[1], 'run', ARGV[2], 'since', '0', 'maxttl', ARGV[3], 'n', ARGV[4], 'level', ARGV[5])
return {'DECLARED', now, ARGV[1], ARGV[2], '0', ARGV[3], ARGV[4], ARGV[5]}
