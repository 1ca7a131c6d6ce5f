-- Declares one master of a new fleet, which votes at once: it writes a marker with since = 0 if there is none, and none
-- has been there since the client decided that the fleet is new.
-- ARGV[11] master_replid, ARGV[12] since and ARGV[13] wall of the sighting by which the client decided.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: DECLARED; or {'PRESENT', TIME} and nothing is written.
-- include marker.lua
if redis.call('EXISTS', marker) == 1 or not unmoved(ARGV[11], ARGV[12], ARGV[13]) then return {'PRESENT', now} end
return declare()
