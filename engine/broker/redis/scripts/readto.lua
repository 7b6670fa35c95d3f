-- Reads new entries of a replay for a consumer, up to the end of the range and none behind it, without waiting. A
-- replay that has ended reads nothing, whoever created its group again.
--
-- KEYS[1]   the stream; KEYS[2] the note of the replay
-- ARGV[1]   group, [2] consumer, [3] the last id, [4] how many at most, [5] what is replayed
-- Replies   as XREADGROUP does, or an empty list
if redis.call('GET', KEYS[2]) ~= ARGV[5] then return {} end
local function field(info, name)
  for i = 1, #info, 2 do
    if info[i] == name then return info[i + 1] end
  end
end
local at
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  if field(info, 'name') == ARGV[1] then at = field(info, 'last-delivered-id') end
end
if not at then return redis.error_reply("NOGROUP No such key '" .. KEYS[1] .. "' or consumer group '" .. ARGV[1] .. "'") end
-- Nothing is after the highest id, and a server refuses to look there.
if at == '18446744073709551615-18446744073709551615' then return {} end
local count = #redis.call('XRANGE', KEYS[1], '(' .. at, ARGV[3], 'COUNT', ARGV[4])
if count == 0 then return {} end
return redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', count, 'STREAMS', KEYS[1], '>')
