-- Takes a master without a marker into a fleet that is not new. It remembers since it was first seen without one.
-- ARGV[12] for how many ms it must have been known that there is none.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: ADOPTED; or {'PRESENT', TIME} where there is one, and MISSING
-- as dial.lua does, and nothing is written but a sighting.
-- include marker.lua
if redis.call('EXISTS', marker) == 1 then return {'PRESENT', now} end
local missing = seen()
local age = missing[3]
if age < tonumber(ARGV[12]) then return missing end
return give('ADOPTED', string.format('%.0f', ms - age), string.format('%.0f', wall - age), 'adopted')
