-- Judges the marker of a master, and updates it if needed. The client runs it when it dials, and at each later check.
-- ARGV[11] 'look': see marker.lua. A marker is then also returned with SKEW, and where the run_id is not known.
-- ARGV[12] since of a marker that is so old that its was can be dropped.
-- Returns {verdict, TIME in us, then the marker as it is now: its fields in the order of names in marker.lua, '' for a
-- missing one, each cut at 64 bytes}. SKEW {verdict, TIME}, TYPE {verdict, TIME, type} and CONFIG write nothing.
-- MISSING {verdict, TIME, for how many ms that is known, master_replid, since and wall of the sighting, '1' if a client
-- has seen a marker here} writes at most a sighting.
-- include marker.lua
local kind = redis.call('TYPE', marker)['ok']
if run == '' and not (looks and kind == 'hash') then return redis.error_reply('ERR INFO does not tell the run_id') end
if skewed then return looks and kind == 'hash' and answer('SKEW', read()) or {'SKEW', now} end
if kind == 'none' then return seen() end
if kind ~= 'hash' then return {'TYPE', now, kind} end

local m = read()
if m.v ~= ARGV[1] or m.maxttl ~= ARGV[3] or m.n ~= ARGV[4] or m.level ~= ARGV[5] or m.db ~= '' and m.db ~= ARGV[6] or m.to ~= '' then
  return answer('CONFIG', m)
end

-- If somebody set an expiry, the marker would vanish, and a fleet that holds locks would look new.
if not looks and redis.call('PTTL', marker) >= 0 then redis.call('PERSIST', marker) end
local verdict, change = 'SAME', {}
local s = redis.pcall('HMGET', sighting, 'run', 'replid', 'since')
local noted = redis.call('HMGET', marker, 'evicted')[1]
local sighted = not s.err and s[1] == run and s[2] == replid and past(s[3] or '', 1e15) and tonumber(s[3])
if m.run ~= run then
  verdict, change.how = 'RESTARTED', 'restarted'
elseif m.replid ~= '' and replid ~= '' and m.replid ~= replid then
  verdict, change.how = 'RESTARTED', 'resynced'
elseif not past(m.since, ms) then
  verdict, change.how = 'RESET', 'reset' -- since is in the future, or not a time
else
  -- A sighting in the future counts as later, too: the clock was set back after it.
  if sighted and sighted > tonumber(m.since) then
    verdict, change.how = 'RESTARTED', 'restored' -- the marker was lost, and then put back
  elseif noted and evicted and noted ~= evicted and evicted ~= '0' then
    verdict, change.how = 'RESTARTED', 'evicted'
  elseif emptied(m) then
    change.how = 'emptied'
  end
end
if verdict ~= 'SAME' then
  -- Moves a sighting from the future to now. Otherwise the marker would count as put back at each later dial.
  if not looks and sighted and sighted > tonumber(ms) then redis.pcall('HSET', sighting, 'since', ms, 'wall', '') end
  change.run, change.replid, change.since, change.wall = run, replid, ms, wall
elseif m.replid == '' and replid ~= '' then
  change.replid = replid
end
-- After a first write that needs no memory, a full master refuses no other write of the script. If it refuses HSET all
-- the same, the client gets the answer of a read-only one: an eviction still takes the master's vote.
if evicted and noted ~= evicted and not looks then
  redis.pcall('PERSIST', marker)
  looks = type(redis.pcall('HSET', marker, 'evicted', evicted)) ~= 'number'
end
-- Every lock of the earlier settings has expired. A marker whose since moves keeps was.
if verdict == 'SAME' and m.was ~= '' and m.since == ARGV[12] then change.was = '' end
if m.db == '' then change.db = ARGV[6] end
if next(change) == nil then return answer(verdict, m) end
return write(verdict, change)
