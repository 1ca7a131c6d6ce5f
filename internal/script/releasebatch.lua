-- Does for each of several independent locks what release.lua does for one (invariant S4). For the first locks, as many
-- as there are queues, it does what the release of queue.lua does.
-- KEYS locks, then the queues of the first ones; ARGV tokens of the locks, then the id of the client.
-- Returns for each lock what release.lua does, or the release of queue.lua.
local n = #ARGV - 1
local values = redis.call('MGET', unpack(KEYS, 1, n)) -- false for a key that is missing or not a string
local codes, ours, queues = {}, {}, {unpack(KEYS, n + 1)}
for i = 1, n do
  if values[i] == ARGV[i] then
    codes[i], ours[#ours + 1] = 1, KEYS[i]
  elseif values[i] or redis.call('EXISTS', KEYS[i]) == 1 then
    codes[i] = 0
  else
    codes[i] = 3
  end
end
if #ours > 0 then redis.call('DEL', unpack(ours)) end
if #queues == 0 then return codes end
local names = {unpack(queues)}
for i, queue in ipairs(queues) do names[#queues + i] = queue .. ':readers' end
local waiting = redis.pcall('EXISTS', unpack(names)) -- an error from here on must not hide what was released
if type(waiting) ~= 'number' or waiting == 0 then return codes end -- nearly always

-- include handover.lua

for i, queue in ipairs(queues) do
  local ok, successor = pcall(call_first, KEYS[i], queue, ARGV[n + 1], 'writer')
  if ok then codes[i] = codes[i] + 10 * successor end
end
return codes
