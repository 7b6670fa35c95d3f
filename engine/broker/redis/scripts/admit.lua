-- Decides about redelivered entries that are pending under the consumer: puts
-- back what is not due and stops what used up its attempts.
--
-- KEYS[1]   the stream; KEYS[2] the group's records
-- ARGV[1]   all else, packed as one array of MessagePack:
--   [1] group, [2] consumer, [3] min_idle (ms), [4] most attempts, [5] number of entries, [6] lowest id,
--   [7] highest id, [8] all ids, with blanks between, [9…] per entry: deliveries before this one
-- Replies   verdicts, one letter an entry: r run, w not due, x exhausted, l lost;
--           then for every entry with a record: its index from 0, the record, the ms until it is due
local given = cmsgpack.unpack(ARGV[1])
local stream, records, group, consumer = KEYS[1], KEYS[2], given[1], given[2]
local idle, most, count = given[3], given[4], given[5]

-- As in the script that settles: where the page of the pending list is just the batch, all are owned.
local page = redis.call('XPENDING', stream, group, given[6], given[7], count, consumer)
local full = #page == count
local ids, deliveries = {}, {}
for i = 1, #page do ids[i] = page[i][1] end
if full and table.concat(ids, ' ') == given[8] then
  for i = 1, count do deliveries[i] = page[i][4] end
else
  local known = {}
  for i = 1, #page do known[ids[i]] = page[i][4] end
  ids = {}
  for id in string.gmatch(given[8], '%S+') do
    local i = #ids + 1
    ids[i], deliveries[i] = id, known[id]
    if full and not known[id] then
      local one = redis.call('XPENDING', stream, group, id, id, 1, consumer)
      deliveries[i] = one[1] and one[1][4]
    end
  end
end

local found = redis.call('HMGET', records, unpack(ids))

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local verdicts, reply = {}, { '' }
for i = 1, count do
  local before, record, verdict, remaining = given[8 + i], found[i], 'r', 0
  local starts, asked, due = 0, 0, 0
  if record then
    starts, asked, due = string.match(record, '^(%d+) (%d+) (%d+) ')
    starts, asked, due = tonumber(starts), tonumber(asked), tonumber(due)
  end
  if not deliveries[i] then
    verdict = 'l'
  elseif due > now then
    verdict, remaining = 'w', due - now
    redis.call('XCLAIM', stream, group, consumer, 0, ids[i], 'IDLE', math.max(0, idle - remaining),
      'RETRYCOUNT', math.max(0, deliveries[i] - 1), 'JUSTID')
  elseif math.max(0, math.min(before, 2) + starts - asked) >= most then
    verdict = 'x'
  end
  verdicts[i] = verdict
  if record then
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = tostring(i - 1), record, string.format('%.0f', remaining)
  end
end

reply[1] = table.concat(verdicts)
return reply
