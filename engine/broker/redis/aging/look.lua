-- Looks at a page of a group's pending entries.
--
-- KEYS[1]  the stream; [2] the group's records
-- ARGV[1]  the group, [2] first id, exclusive with "(", [3] how many
-- Replies  per entry: id, consumer, when it was touched last, when its record was written or 0; in ms
--
-- Within a script the server's time stands still, so that an idle time tells the moment exactly.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local out = {}
for _, p in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], '+', ARGV[3])) do
  local at = string.match(redis.call('HGET', KEYS[2], p[1]) or '', '^%d+ %d+ %d+ (%d+)')
  for _, v in ipairs({ p[1], p[2], string.format('%.0f', now - p[3]), at or '0' }) do out[#out + 1] = v end
end
return out
