-- Moves what time means to a stream and one of its groups, so that what was so at the server's time "from" is so at
-- its time "to", "step" later.
--
-- KEYS[1]  the stream; [2] the group's records, [3] its floor, [4]… leases; [2]… are left out without a group
-- ARGV[1]  the group, [2] from, [3] to, [4] step, [5] the clock's time, [6] how long keys are kept; all in ms
-- ARGV[7]… per pending entry, in the order in which they were touched: id, consumer, when it is to be touched last
--
-- XCLAIM drops an entry whose body is gone, which passing time does not: such an entry stays as it is. It gives none of
-- them a time after the server's own, and those of "to" are not.
-- Records begin with "starts asked due at"; a due of 0 is none. One that was written after "from" was written then.
local stream, group = KEYS[1], ARGV[1]
local from, to, step, now, keep = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]

local function lastID()
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return tonumber(string.match(info[i + 1], '^%d+')) end
  end
end

if redis.call('TYPE', stream).ok == 'stream' then
  if lastID() < now then redis.call('XSETID', stream, string.format('%.0f-0', now)) end
  for i = 7, #ARGV, 3 do
    if #redis.call('XRANGE', stream, ARGV[i], ARGV[i]) > 0 then
      redis.call('XCLAIM', stream, group, ARGV[i + 1], 0, ARGV[i], 'TIME', ARGV[i + 2], 'JUSTID')
    end
  end
end

if KEYS[2] then
  local all = redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    local counts, due, at, rest = string.match(all[i + 1], '^(%d+ %d+ )(%d+) (%d+)(.*)$')
    local shift = to - from - step - math.max(0, at - from)
    if due ~= '0' then due = string.format('%.0f', math.max(1, due + shift)) end
    redis.call('HSET', KEYS[2], all[i], counts .. due .. ' ' .. string.format('%.0f', at + shift) .. rest)
  end
end

for i = 1, #KEYS do
  local left = i > 3 and redis.call('PTTL', KEYS[i]) or -1
  if left >= 0 then
    left = left + to - from - step
    if left <= 0 then redis.call('DEL', KEYS[i]) else redis.call('PEXPIRE', KEYS[i], left) end
  else
    redis.call('PEXPIRE', KEYS[i], keep)
  end
end
