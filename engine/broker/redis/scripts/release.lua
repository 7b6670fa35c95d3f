-- Hands entries back that are pending under the consumer: they look idle for so
-- long that a claim takes them, and the delivery is not counted.
--
-- KEYS[1]   the stream
-- ARGV[1]   group, [2] consumer, [3] for how long they look idle (ms), [4] first id, [5] last id, [6]… ids
-- Replies   how many were handed back
local stream, group, consumer, count = KEYS[1], ARGV[1], ARGV[2], #ARGV - 5

local page = redis.call('XPENDING', stream, group, ARGV[4], ARGV[5], count, consumer)
local full = #page == count
local deliveries = {}
for i = 1, #page do deliveries[page[i][1]] = page[i][4] end

local done = 0
for i = 1, count do
  local id = ARGV[5 + i]
  local times = deliveries[id]
  if not times and full then
    local one = redis.call('XPENDING', stream, group, id, id, 1, consumer)
    times = one[1] and one[1][4]
  end
  if times then
    redis.call('XCLAIM', stream, group, consumer, 0, id, 'IDLE', ARGV[3], 'RETRYCOUNT', math.max(0, times - 1), 'JUSTID')
    done = done + 1
  end
end
return done
