-- Makes one master of a new fleet vote at once: a marker with since = 0, where none is, and where none has been since the
-- client decided that the fleet is new.
-- ARGV[11] master_replid, ARGV[12] since and ARGV[13] wall of the sighting that it has decided by.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: DECLARED; or {'PRESENT', TIME} and nothing is written.
-- include marker.lua
if redis.call('EXISTS', marker) == 1 or not unmoved(ARGV[11], ARGV[12], ARGV[13]) then return {'PRESENT', now} end
return declare()
