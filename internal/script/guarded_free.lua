-- One lock that is free and has no lease record is granted here, which is nearly always: what guarded.lua prepares for
-- all cases costs as much as the grant itself. KEYS, ARGV and what it returns are those of guarded_acquire.lua, to which
-- everything else is left, unchanged.
if #KEYS == 1 + (ARGV[4] ~= '' and 1 or 0) + (ARGV[6] ~= '' and 1 or 0) then
  local micros, lease, right = 0, nil, true
  if ARGV[6] ~= '' then
    local clock = redis.call('TIME')
    micros = clock[1] * 1000000 + clock[2]
    lease = KEYS[#KEYS]
    right = micros >= ARGV[6] - ARGV[7] and micros <= ARGV[6] + ARGV[8] + ARGV[7]
  end
  if right and redis.call('EXISTS', KEYS[1], lease or KEYS[1]) == 0 then
    local number, text = 0, ARGV[4]
    if text ~= '' then
      number = tonumber(text)
      local given = redis.pcall('GET', KEYS[2])
      if given then -- usually less than the client proposes
        local value
        if type(given) == 'string' and #given <= 16 and string.match(given, '^%d+$') then value = tonumber(given) end
        if not value then
          number = nil
        elseif value >= number then
          number = value + 1
          text = string.format('%.0f', number)
        end
      end
    end
    if number and number < 9007199254740991 then
      if text ~= '' then redis.call('SET', KEYS[2], text, 'PX', ARGV[5]) end
      if lease then
        redis.call('ZADD', lease, string.format('%.0f', -(math.floor(micros / 1000) + ARGV[2])), ARGV[1])
        redis.call('PEXPIRE', lease, ARGV[9])
      end
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
      return {1, number, micros}
    end
  end
end
