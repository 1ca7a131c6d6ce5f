-- Declares a fleet because an operator says so; never part of start-up.
-- ARGV[12] '1': also over a marker that is there; ARGV[13] quarantine in ms; ARGV[14] '1': some masters of the fleet are
-- absent; ARGV[15] master_replid, ARGV[16] since and ARGV[17] wall of the sighting, or the marker, that it was decided by.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: DECLARED votes at once (since = 0); FORCED votes after its
-- quarantine (since = now). PRESENT with the marker that is there, SKEW {verdict, TIME} and TYPE {verdict, TIME, type}
-- write nothing, nor does {'PRESENT', TIME} where there is none and the sighting has changed.
-- include marker.lua
if skewed then return {'SKEW', now} end
local kind = redis.call('TYPE', marker)['ok']
if kind ~= 'none' and kind ~= 'hash' then return {'TYPE', now, kind} end
if ARGV[12] == '1' then
  redis.call('DEL', sighting, marker) -- with what else is in it, and an expiry
  return write('FORCED', fresh(ms, wall, 'forced'))
end
if kind == 'hash' then
  -- One of this fleet, that was given to a master without any, and does not vote yet: there was nothing to remember.
  local m = read()
  local waits = m.v == ARGV[1] and m.maxttl == ARGV[3] and m.n == ARGV[4] and m.level == ARGV[5] and m.db == ARGV[6]
    and m.run == run and m.replid == replid and m.since == ARGV[16] and (m.how == 'adopted' or m.how == 'created')
    and past(m.since, ms) and ms - m.since < tonumber(ARGV[13])
  if not waits then return answer('PRESENT', m) end
elseif not unmoved(ARGV[15], ARGV[16], ARGV[17]) then
  return {'PRESENT', now}
end
return declare(kind == 'none' and ARGV[16] .. '/' .. ARGV[17] or ARGV[16], ARGV[14] == '1' and '1' or '')
