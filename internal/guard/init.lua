-- Declares a fleet because an operator says so. It is never part of a client's start.
-- ARGV[11] '1': also replace a marker that is there; ARGV[12] quarantine in ms; ARGV[13] master_replid, ARGV[14] since
-- and ARGV[15] wall of the sighting, or the marker, by which the client decided; ARGV[16] the greatest MaxTTL of the
-- new settings and of what the masters of the fleet have reported.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: DECLARED votes at once (since = 0); FORCED votes after its
-- quarantine (since = now). The rest write nothing: PRESENT with the marker that is there; {'PRESENT', TIME} if there
-- is none and the sighting has changed; SKEW {verdict, TIME}; TYPE {verdict, TIME, type}.
-- include marker.lua
if skewed then return {'SKEW', now} end
local kind = redis.call('TYPE', marker)['ok']
if kind ~= 'none' and kind ~= 'hash' then return {'TYPE', now, kind} end
if ARGV[11] == '1' then
  local m, was = read(), tonumber(ARGV[16])
  for _, before in ipairs({m.maxttl, m.was}) do
    if past(before, 1e12) then was = math.max(was, before) end
  end
  redis.call('DEL', sighting, marker) -- with all its other fields, and an expiry
  return write('FORCED', fresh(ms, wall, 'forced', was > tonumber(ARGV[3]) and string.format('%.0f', was) or ''))
end
if kind == 'hash' then
  -- An adopted marker of this fleet that does not vote yet may be replaced: the master had nothing to remember.
  local m = read()
  local waits = m.v == ARGV[1] and m.maxttl == ARGV[3] and m.n == ARGV[4] and m.level == ARGV[5] and m.db == ARGV[6]
    and m.run == run and m.replid == replid and m.since == ARGV[14] and m.how == 'adopted' and m.was == ''
    and past(m.since, ms) and ms - m.since < tonumber(ARGV[12])
  if not waits then return answer('PRESENT', m) end
elseif not unmoved(ARGV[13], ARGV[14], ARGV[15]) then
  return {'PRESENT', now}
end
return declare(kind == 'hash' and ARGV[14] or nil)
