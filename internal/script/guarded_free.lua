-- Grants one lock that is free and has no lease record. That is nearly always the case, and what guarded.lua prepares
-- for all cases costs as much as the grant itself. KEYS, ARGV and the reply are those of guarded_acquire.lua, which
-- follows and handles everything else. Globals are looked up by name, so each is looked up once. Whole numbers of equal
-- length compare like their texts, without a conversion.
local keys, args, call = KEYS, ARGV, redis.call
local fenced, leased = args[4] ~= '', args[5] ~= ''
if #keys == 1 + (fenced and 1 or 0) + (leased and 1 or 0) then
  local lock, micros, lease, free = keys[1], 0, nil, nil
  if leased then
    local clock, least, most = call('TIME'), args[5], args[6]
    local now = clock[1] .. string.sub('000000', #clock[2] + 1) .. clock[2]
    micros, lease = clock[1] * 1000000 + clock[2], keys[fenced and 3 or 2]
    free = #least == #now and #most == #now and least <= now and now <= most and call('EXISTS', lock, lease) == 0
  else
    free = call('EXISTS', lock) == 0
  end
  local floor = args[4]
  if free and fenced then
    free = #floor < 16 or #floor == 16 and floor < '9007199254740991' -- 2^53 - 1
    local given = redis.pcall('GET', keys[2]) -- nearly always less than the proposed token, and as long
    if given then free = free and #given == #floor and given < floor and not string.find(given, '%D') end
  end
  if free then
    if fenced then call('SET', keys[2], floor, 'PX', args[7]) end
    if leased then
      call('ZADD', lease, (micros % 1000 - micros) / 1000 - args[2], args[1])
      call('PEXPIRE', lease, args[7])
    end
    call('SET', lock, args[1], 'PX', args[2])
    return {1, fenced and tonumber(floor) or 0, micros}
  end
end
