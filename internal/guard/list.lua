-- Notes which list of masters is in use here, so that clients with another one can be told. It decides no vote, and no error of
-- it counts.
-- KEYS[1] the list's key; ARGV[1] digest of the client's list; ARGV[2] '1' from who only looks: nothing is written.
-- Returns {the digest that stands there, 64 bytes of it, '' where none does; for how many ms more}.
local said = redis.call('GET', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if ARGV[2] == '1' then return {string.sub(said or '', 1, 64), left} end
if not said then
  redis.pcall('SET', KEYS[1], ARGV[1], 'PX', 120000)
elseif said == ARGV[1] and left < 90000 then
  redis.pcall('PEXPIRE', KEYS[1], 120000)
end
return {string.sub(said or '', 1, 64), left}
