-- What scripts that write readers share; it is put into them where they say so. See reader_acquire.lua.

-- Has a set of readers expire with the last of them. One whose time ends after most, the longest TTL from now, was entered
-- before this clock was set back. It cannot be alive for longer than that, so its time is cut to it; to pass it over would
-- let a writer in beside it.
local function expire_with_last(readers, most)
  most = math.floor(most)
  while true do
    local last = redis.call('ZREVRANGE', readers, 0, 0, 'WITHSCORES')
    if not last[1] then return end
    if tonumber(last[2]) <= most then
      redis.call('PEXPIREAT', readers, string.format('%.0f', tonumber(last[2])))
      return
    end
    redis.call('ZADD', readers, string.format('%.0f', most), last[1])
  end
end
