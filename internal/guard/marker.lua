-- The part that all scripts about the marker share. KEYS[1] marker;
-- ARGV[1] version of the marker; ARGV[2] run_id, '' while the client does not know it; ARGV[3] MaxTTL in ms; ARGV[4]
-- number of masters; ARGV[5] level; ARGV[6] number of the database; ARGV[7] client's wall clock in us when it sent
-- this; ARGV[8] greatest skew in us for 'strict', else unused; ARGV[9] how long the client waits for the reply, in us;
-- ARGV[10] since of the marker that the client saw last on this master, '0' for one of another fleet, '' for none;
-- ARGV[11] of dial.lua: 'look' from a read-only client. The script then answers what it would write, and writes nothing
-- except a sighting. The sighting is not in KEYS, so a user without permission for it can still have markers judged.
local marker, sighting, looks = KEYS[1], 'redquorum:sighted', ARGV[11] == 'look'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ms = string.format('%.0f', math.floor(now / 1000))
local wall = string.format('%.0f', math.floor(ARGV[7] / 1000))
local skewed = ARGV[5] == 'strict' and (now < ARGV[7] - ARGV[8] or now > ARGV[7] + ARGV[9] + ARGV[8])

-- Reads a field of INFO, because what the client knows may be out of date. nil if INFO is not permitted or lacks it.
local function info(section, field)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and string.match(text, '\n' .. field .. ':(%S+)') or nil
end
local run = ARGV[2] ~= '' and ARGV[2] or info('server', 'run_id') or ''
local replid = info('replication', 'master_replid') or '' -- the history of the data, which a resynchronisation replaces
local evicted = info('stats', 'evicted_keys') -- by this process; CONFIG RESETSTAT sets it to 0. No reply contains it

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

-- Writes fields of the marker, and answers with all of them. A read-only client gets the same answer.
local function write(verdict, fields)
  local m = read()
  for name, value in pairs(fields) do
    m[name] = value
    if not looks then redis.call('HSET', marker, name, value) end
  end
  return answer(verdict, m)
end

-- Returns a complete marker of this process, fleet and configuration. was is the longest MaxTTL of earlier settings.
local function fresh(since, at, how, was)
  return {v = ARGV[1], run = run, replid = replid, since = since, wall = at, maxttl = ARGV[3], n = ARGV[4],
    level = ARGV[5], db = ARGV[6], how = how, was = was or '', evicted = evicted}
end

-- Reports whether text is whole milliseconds since 1970, in 15 digits at most, and not after limit.
local function past(text, limit)
  return string.match(text, '^%d+$') and #text <= 15 and tonumber(text) <= tonumber(limit)
end

-- Reports whether the master has lost its data: it was adopted without a marker after this client had seen one there.
local function emptied(m)
  return ARGV[10] ~= '' and m.since ~= ARGV[10] and m.how == 'adopted'
end

-- Answers MISSING, for how many ms that is known, and whether this client or another has seen a marker here. If one
-- has, the master has lost its data, and no fleet with it is new. A sighting counts only if this process wrote it while
-- it had this data, and if its times are not in the future; otherwise a new one begins now. Its wall may be up to a
-- second ahead of this client's clock: clients whose clocks differ by less would move it forever. Its age is the
-- smaller of what the master's clock and the client's clock say has passed. It is kept for a day.
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

-- Reports whether the sighting is still what a client has read: no marker was here since, and no client knows of one.
local function unmoved(history, since, at)
  local s = redis.call('HMGET', sighting, 'run', 'replid', 'since', 'wall', 'known')
  return replid == history and s[1] == run and s[2] == history and s[3] == since and s[4] == at and not s[5]
end

-- Gives a marker to a master that had none. The sighting stays for a day and reveals an older marker that is put back.
-- Its wall is emptied, so that a new sighting begins if the marker is lost.
local function give(verdict, since, at, how, was, by)
  local s = redis.pcall('HMGET', sighting, 'known')
  if ARGV[10] ~= '' or not s.err and s[1] then how = 'emptied' end
  local kept = not looks and redis.pcall('HSET', sighting, 'run', run, 'replid', replid, 'since', since, 'wall', '')
  if type(kept) == 'number' then redis.call('PEXPIRE', sighting, 86400000) end -- else not permitted, or not a hash
  local m = fresh(since, at, how, was)
  m.by = by
  return write(verdict, m)
end

-- Declares a master as part of a new fleet: it votes at once. replaced is since of the marker that the master got
-- because it had none; nil if it has no marker.
local function declare(replaced)
  redis.call('DEL', sighting, marker)
  local m = fresh('0', '0', 'declared')
  m.seen = replaced
  return write('DECLARED', m)
end
