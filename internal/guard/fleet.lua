-- Changes what a marker says of its fleet, where it still says what the client has seen.
-- ARGV[12] what to do, where the marker's fleet is ARGV[13]:
--   name: its fleet is ARGV[10] from now on;
--   whole: none of the masters is absent any more;
--   revoke: the fleet was declared new without some of its masters, and was not new: since = now;
--   close: the fleet is being moved to ARGV[14]. Where it is being moved elsewhere nothing is written, unless ARGV[15] is
--   '1'. since is moved by 1 ms: whoever has judged the marker sees that at the
--   end of his next flush, and nobody's quarantine begins. It votes on as before for who knows of the move.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: SAME, REVOKED, or CLOSED; or {'PRESENT', TIME} where it says something
-- else, and nothing is written.
-- include marker.lua
if redis.call('TYPE', marker)['ok'] ~= 'hash' then return {'PRESENT', now} end
local m = read()
if m.v ~= ARGV[1] or m.run ~= run or m.db ~= ARGV[6] or m.replid ~= '' and replid ~= '' and m.replid ~= replid then
  return {'PRESENT', now} -- the dial script has to judge it first
end
if m.fleet ~= ARGV[13] or emptied(m) then return {'PRESENT', now} end
if ARGV[12] == 'close' then
  if m.to == ARGV[14] or m.to ~= '' and ARGV[15] ~= '1' then return answer('SAME', m) end
  if not past(m.since, ms) or m.since == ms then return {'PRESENT', now} end -- it would lie in the future
  return write('CLOSED', {to = ARGV[14], closed = ms, since = string.format('%.0f', m.since + 1)})
end
if ARGV[12] ~= 'name' and m.without == '' then return {'PRESENT', now} end
if ARGV[12] == 'name' then return write('SAME', {fleet = ARGV[10]}) end
if ARGV[12] == 'whole' then return write('SAME', {without = ''}) end
return write('REVOKED', {since = ms, wall = wall, how = 'revoked', without = ''})
