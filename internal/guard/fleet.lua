-- Changes what a marker says of its fleet, where it still says what the client has seen.
-- ARGV[11] what to do, where the marker's fleet is ARGV[12]:
--   name: its fleet is ARGV[10] from now on;
--   whole: none of the masters is absent any more;
--   revoke: the fleet was declared new without some of its masters, and was not new: since = now.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: SAME, or REVOKED; or {'PRESENT', TIME} where it says something
-- else, and nothing is written.
-- include marker.lua
if redis.call('TYPE', marker)['ok'] ~= 'hash' then return {'PRESENT', now} end
local m = read()
if m.v ~= ARGV[1] or m.run ~= run or m.db ~= ARGV[6] or m.replid ~= '' and replid ~= '' and m.replid ~= replid then
  return {'PRESENT', now} -- the dial script has to judge it first
end
if m.fleet ~= ARGV[12] or ARGV[11] ~= 'name' and m.without == '' then return {'PRESENT', now} end
if ARGV[11] == 'name' then return write('SAME', {fleet = ARGV[10]}) end
if ARGV[11] == 'whole' then return write('SAME', {without = ''}) end
return write('REVOKED', {since = ms, wall = wall, how = 'revoked', without = ''})
