-- One lock that is free and has no lease record is granted here, which is nearly always: what guarded.lua prepares for
-- all cases costs as much as the grant itself. KEYS, ARGV and what it returns are those of guarded_acquire.lua, to which
-- everything else is left, unchanged. Globals are looked up by name, so each is looked up once; counting with ARGV's
-- texts makes them numbers.
local keys, args, call = KEYS, ARGV, redis.call
local fenced, leased = args[4] ~= '', args[5] ~= ''
if #keys == 1 + (fenced and 1 or 0) + (leased and 1 or 0) then
  local lock, micros, lease, free = keys[1], 0, nil, nil
  if leased then
    local clock = call('TIME')
    micros, lease = clock[1] * 1000000 + clock[2], keys[fenced and 3 or 2]
    free = micros - args[5] >= 0 and args[6] - micros >= 0 and call('EXISTS', lock, lease) == 0
  else
    free = call('EXISTS', lock) == 0
  end
  local floor = 0
  if free and fenced then
    floor = tonumber(args[4])
    local given = redis.pcall('GET', keys[2])
    -- Nearly always it is less than the client proposes, and of 16 digits, as microseconds are: of what is a number and as
    -- long, above 10^15 and whole, nothing can be meant but that.
    if given then
      local value = #given == 16 and tonumber(given) or 0
      free = value >= 1000000000000000 and value % 1 == 0 and value < floor
    end
  end
  if free and floor < 9007199254740991 then
    if fenced then call('SET', keys[2], args[4], 'PX', args[7]) end
    if leased then
      call('ZADD', lease, (micros % 1000 - micros) / 1000 - args[2], args[1])
      call('PEXPIRE', lease, args[7])
    end
    call('SET', lock, args[1], 'PX', args[2])
    return {1, floor, micros}
  end
end
