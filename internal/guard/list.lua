-- Notes which list of masters is in use here, so that clients with another list can report it.
-- It decides no vote, and its errors are ignored.
-- KEYS[1] the list's key; ARGV[1] digest of the client's list; ARGV[2] '1' from a read-only client: no write.
-- Returns {the stored digest, cut at 64 bytes, '' if there is none; its PTTL in ms}.
local said = redis.call('GET', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if ARGV[2] == '1' then return {string.sub(said or '', 1, 64), left} end
if not said then
  redis.pcall('SET', KEYS[1], ARGV[1], 'PX', 120000)
elseif said == ARGV[1] and left < 90000 then
  redis.pcall('PEXPIRE', KEYS[1], 120000)
end
return {string.sub(said or '', 1, 64), left}
