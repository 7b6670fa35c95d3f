-- Makes a stream recognise a message that is added again (XADD … IDMP, from Redis 8.6), for a time.
--
-- KEYS[1]   the stream
-- ARGV[1]   for how many seconds, [2] how many messages of one producer id
-- Replies   1 if it does, 0 where the server cannot
--
-- Changing a limit makes the server forget what it knows of the stream, so limits are only ever raised, and a stream
-- that is absent is created first: as an empty one, by an entry that is trimmed with its own addition.
local key, seconds, messages = KEYS[1], ARGV[1] + 0, ARGV[2] + 0
local kind = redis.call('TYPE', key).ok
if kind ~= 'stream' and kind ~= 'none' then
  return redis.error_reply('WRONGTYPE the key ' .. key .. ' holds a ' .. kind .. ', not a stream')
end
if kind == 'none' then
  local tried = redis.pcall('XCFGSET', key, 'IDMP-DURATION', ARGV[1])
  if string.find(tried.err, 'nknown') then return 0 end
  if not string.find(tried.err, 'no such key') then return tried end
  local added = redis.pcall('XADD', key, 'MAXLEN', 0, '*', '', '')
  if type(added) == 'table' then return added end
end
local limits, info = {}, redis.call('XINFO', 'STREAM', key)
for i = 1, #info, 2 do limits[info[i]] = info[i + 1] end
local has, most = limits['idmp-duration'], limits['idmp-maxsize']
if not has then return 0 end
if has < seconds or most < messages then
  local set = redis.pcall('XCFGSET', key, 'IDMP-DURATION', math.max(has, seconds), 'IDMP-MAXSIZE', math.max(most, messages))
  if set.err then return set end
end
return 1
