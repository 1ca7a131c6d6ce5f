-- Notes that a master has no marker, for tools that only look: the quarantine of whoever adopts it runs from then on.
-- Returns {'MISSING', TIME in us, for how many ms that has been known}; or {'PRESENT', TIME} where there is a marker.
-- include marker.lua
if redis.call('EXISTS', marker) == 1 then return {'PRESENT', now} end
return {'MISSING', now, seen()}
