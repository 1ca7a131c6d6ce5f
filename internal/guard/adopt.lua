-- Gives a marker to a master that has none, in a fleet that is not new. Its since is when the lack was first seen.
-- ARGV[11] for how many ms it must have been known that there is none; ARGV[12] the same if a client has seen one;
-- ARGV[13] the longest MaxTTL of earlier settings, '' if none was longer; ARGV[14] the owner's name, for by.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: ADOPTED. Or it writes no marker: {'PRESENT', TIME} if there
-- is one; {'SKEW', TIME}; MISSING as in dial.lua, with a sighting, if the lack is not known for long enough.
-- include marker.lua
if skewed then return {'SKEW', now} end
if redis.call('EXISTS', marker) == 1 then return {'PRESENT', now} end
local missing = seen()
local age = missing[3]
if age < tonumber(ARGV[11]) or missing[7] ~= '' and age < tonumber(ARGV[12]) then return missing end
return give('ADOPTED', string.format('%.0f', ms - age), string.format('%.0f', wall - age), 'adopted', ARGV[13], ARGV[14])
