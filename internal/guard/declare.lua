-- Makes one master of a new fleet vote at once: a marker with since = 0, where none is.
-- Returns {verdict, TIME in us, the marker as in dial.lua}: DECLARED; or {'PRESENT', TIME} and nothing is written.
-- include marker.lua
if redis.call('EXISTS', marker) == 1 then return {'PRESENT', now} end
redis.pcall('DEL', sighting)
return write('DECLARED', fresh('0', '0', 'declared'))
