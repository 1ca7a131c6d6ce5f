-- Takes a master without a marker into a fleet that is not new. It remembers since it was first seen without one.
-- ARGV[11] for how many ms it must have been known that there is none, and ARGV[12] the same where somebody has seen one; ARGV[13] the
-- longest MaxTTL of the settings before, '' where none was longer; ARGV[14] the name of the client's owner, which is kept as by.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: ADOPTED; or {'PRESENT', TIME} where there is one, and MISSING
-- as dial.lua does, and nothing is written but a sighting; {'SKEW', TIME}, and nothing is written.
-- include marker.lua
if skewed then return {'SKEW', now} end
if redis.call('EXISTS', marker) == 1 then return {'PRESENT', now} end
local missing = seen()
local age = missing[3]
if age < tonumber(ARGV[11]) or missing[7] ~= '' and age < tonumber(ARGV[12]) then return missing end
return give('ADOPTED', string.format('%.0f', ms - age), string.format('%.0f', wall - age), 'adopted', ARGV[13], ARGV[14])
