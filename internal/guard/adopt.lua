-- Takes a master without a marker into a fleet that is not new. It remembers since it was first seen without one.
-- ARGV[11] for how many ms it must have been known that there is none.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: ADOPTED; or {'PRESENT', TIME} where there is one, and
-- {'MISSING', TIME, for how many ms that has been known}, and nothing is written but a sighting.
-- include marker.lua
if redis.call('EXISTS', marker) == 1 then return {'PRESENT', now} end
local age = seen()
if age < tonumber(ARGV[11]) then return {'MISSING', now, age} end
redis.call('DEL', sighting)
return write('ADOPTED', fresh(string.format('%.0f', ms - age), string.format('%.0f', wall - age), 'adopted'))
