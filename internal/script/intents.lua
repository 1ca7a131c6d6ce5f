-- Reports whether a waiting writer keeps readers out here; see reader_acquire.lua. It stands behind handover.lua.
local function writers_wait(intents)
  local INTENT, millis = 2000, math.floor(now() / 1000)
  local waiting = redis.pcall('ZCOUNT', intents, string.format('%.0f', millis), string.format('%.0f', millis + INTENT))
  return type(waiting) == 'number' and waiting > 0
end

