-- Of all scripts about the marker: KEYS[1] marker; ARGV[1] version of the marker; ARGV[2] run_id, '' where the client has not been told it yet; ARGV[3]
-- MaxTTL in ms; ARGV[4] number of masters; ARGV[5] level; ARGV[6] number of the database; ARGV[7] client's wall clock in us
-- when this was sent; ARGV[8] greatest skew in us, for 'strict', else unused; ARGV[9] how long the client waits for the
-- reply, in us; ARGV[10] id of the fleet, '' where the client does not know it.
-- The sighting is no key of the script's: a user who may not touch it can have markers judged all the same.
local marker, sighting = KEYS[1], 'redquorum:sighted'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ms = string.format('%.0f', math.floor(now / 1000))
local wall = string.format('%.0f', math.floor(ARGV[7] / 1000))
local skewed = ARGV[5] == 'strict' and (now < ARGV[7] - ARGV[8] or now > ARGV[7] + ARGV[9] + ARGV[8])

-- The history of the data, which a resynchronisation replaces; '' where INFO is not permitted. Read here: what the client
-- knows of it may be out of date.
local run = ARGV[2]
if run == '' then
  run = redis.pcall('INFO', 'server')
  run = type(run) == 'string' and string.match(run, '\nrun_id:(%S+)') or ''
end
local replid = redis.pcall('INFO', 'replication')
replid = type(replid) == 'string' and string.match(replid, 'master_replid:(%x+)') or ''

local names = {'v', 'run', 'replid', 'since', 'wall', 'maxttl', 'n', 'level', 'db', 'fleet', 'how', 'without', 'to', 'closed'}
local function read()
  local values, m = redis.call('HMGET', marker, unpack(names)), {}
  for i, name in ipairs(names) do m[name] = string.sub(values[i] or '', 1, 64) end
  return m
end

local function answer(verdict, m)
  local reply = {verdict, now}
  for i, name in ipairs(names) do reply[i + 2] = m[name] end
  return reply
end

-- Writes fields of the marker, and answers with all of them.
local function write(verdict, fields)
  for name, value in pairs(fields) do redis.call('HSET', marker, name, value) end
  return answer(verdict, read())
end

-- A whole marker of this process, fleet and configuration.
local function fresh(since, at, how)
  return {v = ARGV[1], run = run, replid = replid, since = since, wall = at, maxttl = ARGV[3], n = ARGV[4],
    level = ARGV[5], db = ARGV[6], fleet = ARGV[10], how = how, without = ''}
end

-- Whole milliseconds since 1970 that are not in the future.
local function past(text, limit)
  return string.match(text, '^%d+$') and #text <= 15 and tonumber(text) <= tonumber(limit)
end

-- For how many ms it has been known, at least, that there is no marker: the smaller of what the master's clock and the
-- client's say has passed since somebody saw so. Only this process can have written it down, and only while it had
-- this data; else, and where the time lies in the future, it begins now. Kept for a day.
local function seen()
  local kind = redis.call('TYPE', sighting)['ok']
  if kind == 'hash' then
    local s = redis.call('HMGET', sighting, 'run', 'replid', 'since', 'wall')
    if s[1] == run and s[2] == replid and past(s[3] or '', ms) and past(s[4] or '', wall) then
      return math.min(ms - s[3], wall - s[4])
    end
  elseif kind ~= 'none' then
    return 0 -- somebody else's
  end
  redis.call('HSET', sighting, 'run', run, 'replid', replid, 'since', ms, 'wall', wall)
  redis.call('PEXPIRE', sighting, 86400000)
  return 0
end
