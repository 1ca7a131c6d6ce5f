-- Declares a fleet because an operator says so; never part of start-up.
-- ARGV[11] '1': also over a marker that is there; ARGV[12] quarantine in ms; ARGV[13] master_replid, ARGV[14] since and ARGV[15] wall of the sighting, or the marker, that it was decided by; ARGV[16]
-- the greatest MaxTTL that any master of the fleet has told, and of the new one.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: DECLARED votes at once (since = 0); FORCED votes after its
-- quarantine (since = now). PRESENT with the marker that is there, SKEW {verdict, TIME} and TYPE {verdict, TIME, type}
-- write nothing, nor does {'PRESENT', TIME} where there is none and the sighting has changed.
-- include marker.lua
if skewed then return {'SKEW', now} end
local kind = redis.call('TYPE', marker)['ok']
if kind ~= 'none' and kind ~= 'hash' then return {'TYPE', now, kind} end
if ARGV[11] == '1' then
  local m, was = read(), tonumber(ARGV[16])
  for _, before in ipairs({m.maxttl, m.was}) do
    if past(before, 1e12) then was = math.max(was, before) end
  end
  redis.call('DEL', sighting, marker) -- with what else is in it, and an expiry
  return write('FORCED', fresh(ms, wall, 'forced', was > tonumber(ARGV[3]) and string.format('%.0f', was) or ''))
end
if kind == 'hash' then
  -- One of this fleet, that was given to a master without any, and does not vote yet: there was nothing to remember.
  local m = read()
  local waits = m.v == ARGV[1] and m.maxttl == ARGV[3] and m.n == ARGV[4] and m.level == ARGV[5] and m.db == ARGV[6]
    and m.run == run and m.replid == replid and m.since == ARGV[14] and m.how == 'adopted' and m.was == ''
    and past(m.since, ms) and ms - m.since < tonumber(ARGV[12])
  if not waits then return answer('PRESENT', m) end
elseif not unmoved(ARGV[13], ARGV[14], ARGV[15]) then
  return {'PRESENT', now}
end
return declare(kind == 'hash' and ARGV[14] or nil)
