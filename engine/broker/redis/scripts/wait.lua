-- Leaves entries in the pending list to come back later, each only if it is
-- pending under the consumer, and writes down why and until when.
--
-- KEYS[1]   the stream; KEYS[2] the group's records
-- ARGV[1]   group, [2] consumer, [3] number of entries, [4] first id, [5] last id
-- ARGV[6]…  per entry: id, idle time to set (ms), ms until it is due or -1, 1 to take the delivery back,
--           1 to count an asked retry, 1 to write the record, error
-- Replies   statuses, one letter an entry: d done, n not owned
--
-- A record is "starts asked due at length-of-consumer consumer error", times in ms. XCLAIM comes before HSET:
-- a full server accepts HSET only after a first write. XCLAIM without an answer means that the body is gone.
local stream, records, group, consumer, count = KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3])

local page = redis.call('XPENDING', stream, group, ARGV[4], ARGV[5], count, consumer)
local full = #page == count
local deliveries = {}
for i = 1, #page do deliveries[page[i][1]] = page[i][4] end
local function delivered(id)
  if deliveries[id] or not full then return deliveries[id] end
  local one = redis.call('XPENDING', stream, group, id, id, 1, consumer)
  return one[1] and one[1][4]
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local statuses, seen = {}, {}
for entry = 1, count do
  local at = 6 + (entry - 1) * 7
  local id, idle, after, uncount = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3] == '1'
  local asked, write, reason = tonumber(ARGV[at + 4]), ARGV[at + 5] == '1', ARGV[at + 6]
  local times = not seen[id] and delivered(id)
  local kept
  seen[id] = true -- an id that comes twice is put back once
  if times then
    local claim = { 'XCLAIM', stream, group, consumer, 0, id, 'IDLE', idle, 'JUSTID' }
    if uncount then
      claim[#claim + 1] = 'RETRYCOUNT'
      claim[#claim + 1] = math.max(0, times - 1)
    end
    kept = redis.call(unpack(claim))[1]
  end
  if kept and write then
    local old = redis.call('HGET', records, id) or '0 0 0 0 0  '
    local starts, before = string.match(old, '^(%d+) (%d+) ')
    local due = after >= 0 and now + after or 0
    redis.call('HSET', records, id, string.format('%s %.0f %.0f %.0f %d ', starts, before + asked, due, now, #consumer)
      .. consumer .. ' ' .. reason)
  end
  statuses[entry] = kept and 'd' or 'n'
end
return table.concat(statuses)
