-- Of all scripts about the marker: KEYS[1] marker; ARGV[1] version of the marker; ARGV[2] run_id, '' where the client has not been told it yet; ARGV[3]
-- MaxTTL in ms; ARGV[4] number of masters; ARGV[5] level; ARGV[6] number of the database; ARGV[7] client's wall clock in us
-- when this was sent; ARGV[8] greatest skew in us, for 'strict', else unused; ARGV[9] how long the client waits for the
-- reply, in us; ARGV[10] since of the marker that
-- the client has seen last on this master, '0' for one of another fleet, '' for none; ARGV[11] of dial.lua 'look' from who only
-- looks: then it answers what it would write, and writes nothing but a sighting.
-- The sighting is no key of the script's: a user who may not touch it can have markers judged all the same.
local marker, sighting, looks = KEYS[1], 'redquorum:sighted', ARGV[11] == 'look'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ms = string.format('%.0f', math.floor(now / 1000))
local wall = string.format('%.0f', math.floor(ARGV[7] / 1000))
local skewed = ARGV[5] == 'strict' and (now < ARGV[7] - ARGV[8] or now > ARGV[7] + ARGV[9] + ARGV[8])

-- Read here: what the client knows of it may be out of date. nil where INFO is not permitted, or does not say it.
local function info(section, field)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and string.match(text, '\n' .. field .. ':(%S+)') or nil
end
local run = ARGV[2] ~= '' and ARGV[2] or info('server', 'run_id') or ''
local replid = info('replication', 'master_replid') or '' -- the history of the data, which a resynchronisation replaces
local evicted = info('stats', 'evicted_keys') -- by this process; CONFIG RESETSTAT makes it 0. No reply shows it

local names = {'v', 'run', 'replid', 'since', 'wall', 'maxttl', 'n', 'level', 'db', 'how', 'seen', 'was', 'by', 'to'}
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

-- Writes fields of the marker, and answers with all of them. Who only looks is answered the same.
local function write(verdict, fields)
  local m = read()
  for name, value in pairs(fields) do
    m[name] = value
    if not looks then redis.call('HSET', marker, name, value) end
  end
  return answer(verdict, m)
end

-- A whole marker of this process, fleet and configuration. was is the longest MaxTTL of the settings before.
local function fresh(since, at, how, was)
  return {v = ARGV[1], run = run, replid = replid, since = since, wall = at, maxttl = ARGV[3], n = ARGV[4],
    level = ARGV[5], db = ARGV[6], how = how, was = was or '', evicted = evicted}
end

-- Whole milliseconds since 1970 that are not in the future.
local function past(text, limit)
  return string.match(text, '^%d+$') and #text <= 15 and tonumber(text) <= tonumber(limit)
end

-- Whether a master was given its marker because it had none, after the client has seen one there: it has lost its data.
local function emptied(m)
  return ARGV[10] ~= '' and m.since ~= ARGV[10] and m.how == 'adopted'
end

-- Says MISSING, since when that is known, and whether who asks, or anybody before, has seen a marker here: then the master
-- has lost its data, and no fleet with it is new. Only this process can have written a sighting, and only while it had
-- this data; else, and where the time lies in the future, it begins now. A client's clock that is up to a second ahead of
-- who asks leaves it as it is: clients that differ by less would move it for ever. Its age, in ms, is the smaller of what
-- the master's clock and the client's say has passed. Kept for a day.
local function seen()
  local s, age = redis.call('HMGET', sighting, 'run', 'replid', 'since', 'wall', 'known'), 0
  if s[1] == run and s[2] == replid and past(s[3] or '', ms) and past(s[4] or '', wall + 1000) then
    age = math.max(0, math.min(ms - s[3], wall - s[4]))
  else
    s[3], s[4] = ms, wall
    redis.call('HSET', sighting, 'run', run, 'replid', replid, 'since', ms, 'wall', wall)
    redis.call('PEXPIRE', sighting, 86400000)
  end
  if ARGV[10] ~= '' and not s[5] then
    s[5] = '1'
    redis.call('HSET', sighting, 'known', '1')
  end
  return {'MISSING', now, age, replid, s[3], s[4], s[5] or ''}
end

-- Whether the sighting still is what a client has read, so that there has been no marker since, and nobody knows of one.
local function unmoved(history, since, at)
  local s = redis.call('HMGET', sighting, 'run', 'replid', 'since', 'wall', 'known')
  return replid == history and s[1] == run and s[2] == history and s[3] == since and s[4] == at and not s[5]
end

-- Gives a master a marker that had none. The sighting stays for a day, and shows that a marker from before was put back.
-- It has no wall any more: should the marker be lost, it begins anew.
local function give(verdict, since, at, how, was, by)
  local s = redis.pcall('HMGET', sighting, 'known')
  if ARGV[10] ~= '' or not s.err and s[1] then how = 'emptied' end
  local kept = not looks and redis.pcall('HSET', sighting, 'run', run, 'replid', replid, 'since', since, 'wall', '')
  if type(kept) == 'number' then redis.call('PEXPIRE', sighting, 86400000) end -- else it may not be touched, or is no sighting
  local m = fresh(since, at, how, was)
  m.by = by
  return write(verdict, m)
end

-- Makes a master one of a new fleet, which votes at once. replaced is since of the marker that it was given because it
-- had none, nil where it has none.
local function declare(replaced)
  redis.call('DEL', sighting, marker)
  local m = fresh('0', '0', 'declared')
  m.seen = replaced
  return write('DECLARED', m)
end
