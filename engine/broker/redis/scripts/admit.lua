-- Decides about redelivered entries that are pending under the consumer: puts
-- back what is not due and stops what used up its attempts.
--
-- KEYS[1]   the stream; KEYS[2] the group's records
-- ARGV[1]   group, [2] consumer, [3] min_idle (ms), [4] most attempts, [5] first id, [6] last id
-- ARGV[7]…  per entry: id, deliveries before this one
-- Replies   verdicts, one letter an entry: r run, w not due, x exhausted, l lost;
--           then per entry: its record, "" without one, and the ms until it is due
local stream, records, group, consumer = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local idle, most, count = tonumber(ARGV[3]), tonumber(ARGV[4]), (#ARGV - 6) / 2

local page = redis.call('XPENDING', stream, group, ARGV[5], ARGV[6], count, consumer)
local full = #page == count
local deliveries = {}
for i = 1, #page do deliveries[page[i][1]] = page[i][4] end
local function delivered(id)
  if deliveries[id] or not full then return deliveries[id] end
  local one = redis.call('XPENDING', stream, group, id, id, 1, consumer)
  return one[1] and one[1][4]
end

local ids = {}
for i = 1, count do ids[i] = ARGV[5 + 2 * i] end
local found = redis.call('HMGET', records, unpack(ids))

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local verdicts, reply = {}, { '' }
for i = 1, count do
  local id, before, record, verdict, remaining = ids[i], tonumber(ARGV[6 + 2 * i]), found[i], 'r', 0
  local starts, asked, due = 0, 0, 0
  if record then
    starts, asked, due = string.match(record, '^(%d+) (%d+) (%d+) ')
    starts, asked, due = tonumber(starts), tonumber(asked), tonumber(due)
  end
  local times = delivered(id)
  if not times then
    verdict = 'l'
  elseif due > now then
    verdict, remaining = 'w', due - now
    redis.call('XCLAIM', stream, group, consumer, 0, id, 'IDLE', math.max(0, idle - remaining),
      'RETRYCOUNT', math.max(0, times - 1), 'JUSTID')
  elseif math.max(0, math.min(before, 2) + starts - asked) >= most then
    verdict = 'x'
  end
  verdicts[i] = verdict
  reply[2 * i] = record or ''
  reply[2 * i + 1] = string.format('%.0f', remaining)
end

reply[1] = table.concat(verdicts)
return reply
