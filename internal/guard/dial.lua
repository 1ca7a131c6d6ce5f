-- Judges the marker of a master, and writes it where that is due: when it is dialled, and at each later look.
-- Returns {verdict, TIME in us, and the marker as it stands now, the fields in the order of names in marker.lua, '' for
-- what it lacks, 64 bytes of each}. SKEW {verdict, TIME}, TYPE {verdict, TIME, type} and CONFIG write nothing; MISSING
-- {verdict, TIME, for how many ms that has been known, master_replid, since and wall of the sighting, '1' where somebody
-- has seen a marker here} writes a sighting at most.
-- ARGV[12] since of a marker that is old enough to drop was. ARGV[11] 'look': see marker.lua. Then a marker is shown also with SKEW, and where nobody tells the run_id.
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

-- An expiry that somebody gave it would make a fleet that holds locks look new.
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
  verdict, change.how = 'RESET', 'reset' -- in the future, or no time at all
else
  -- One in the future is later, too: the clock was set back since.
  if sighted and sighted > tonumber(m.since) then
    verdict, change.how = 'RESTARTED', 'restored' -- it was lost since, and put back
  elseif noted and evicted and noted ~= evicted and evicted ~= '0' then
    verdict, change.how = 'RESTARTED', 'evicted'
  elseif emptied(m) then
    change.how = 'emptied'
  end
end
if verdict ~= 'SAME' then
  -- Else the marker would count as put back when that time comes.
  if not looks and sighted and sighted > tonumber(ms) then redis.pcall('HSET', sighting, 'since', ms, 'wall', '') end
  change.run, change.replid, change.since, change.wall = run, replid, ms, wall
elseif m.replid == '' and replid ~= '' then
  change.replid = replid
end
-- Behind a first write that needs no memory a full master refuses no other. Where it does all the same, it is answered
-- as to who only looks: an eviction takes its vote.
if evicted and noted ~= evicted and not looks then
  redis.pcall('PERSIST', marker)
  looks = type(redis.pcall('HSET', marker, 'evicted', evicted)) ~= 'number'
end
-- What was locked by other settings is over. A marker whose since moves keeps it.
if verdict == 'SAME' and m.was ~= '' and m.since == ARGV[12] then change.was = '' end
if m.db == '' then change.db = ARGV[6] end
if next(change) == nil then return answer(verdict, m) end
return write(verdict, change)
