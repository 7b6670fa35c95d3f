-- Looks up keys among the marks of a group: see settle.lua.
--
-- KEYS[1], [2]  the hashes that hold marks
-- ARGV[1]       the window (ms); ARGV[2]… keys
-- Replies       per key: its mark, "" where it is not marked
local window, reply, times = ARGV[1] + 0, {}, {}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, #ARGV - 1 do reply[i] = '' end
for _, set in ipairs(KEYS) do
  local kind = redis.call('TYPE', set).ok
  if kind == 'hash' then
    local found = redis.call('HMGET', set, unpack(ARGV, 2))
    for i = 1, #ARGV - 1 do
      local since = found[i] and tonumber(string.match(found[i], '^%d+')) or -window
      if now - since < window and since >= (times[i] or 0) then
        reply[i], times[i] = found[i], since
      end
    end
  elseif kind ~= 'none' then
    return redis.error_reply('WRONGTYPE the key ' .. set .. ' holds a ' .. kind .. ', not a hash')
  end
end
return reply
