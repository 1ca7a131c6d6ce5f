-- The common part of the scripts that write readers, which include it. See reader_acquire.lua.

-- Lets a set of readers expire with the last of them. A reader that expires after most, the longest TTL from now, was
-- entered before this clock was set back. It may be alive, but not for longer, so its time is cut to most. To ignore it
-- would let a writer in beside it.
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
