-- Leaves entries in the pending list to come back later, each only if it is
-- pending under the consumer, and writes down why and until when.
--
-- KEYS[1]   the stream; KEYS[2] the group's records
-- ARGV[1]   group, [2] consumer, [3] number of entries, [4] first id, [5] last id
-- ARGV[6]…  per entry: id, idle time to set (ms), ms until it is due or -1, 1 to take the delivery back,
--           1 to count an asked retry, 1 to write the record, the delivery that ends or 0, ms since then, error
-- Replies   statuses, one letter an entry: d done, n not owned, g its body is gone and XCLAIM took it out of
--           the pending list
--
-- A record is "starts asked due at length who error", times in ms. Who is the consumer that wrote the last
-- outcome, and behind the character 31 what is on record last, s for a start and e for an end, with the number
-- of its delivery, and the time of the first delivery or 0: "consumer\31e3 1700000000000". An outcome that the
-- same consumer has written for the same delivery is done already: its answer was lost.
-- XCLAIM comes before HSET: a full server accepts HSET only after a first write.
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

local function flag(arg) return arg == '1' end

-- What is on record of those whose record is written, in one call: a call costs more than what it does.
local old, asked_for = {}, {}
for entry = 1, count do
  local at = 6 + (entry - 1) * 9
  if flag(ARGV[at + 5]) then asked_for[#asked_for + 1] = ARGV[at] end
end
if #asked_for > 0 then
  local found = redis.call('HMGET', records, unpack(asked_for))
  for i = 1, #asked_for do old[asked_for[i]] = found[i] end
end

local new = {}
local function put(at)
  local id, idle, after, uncount = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), flag(ARGV[at + 3])
  local delivery, ago = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
  local write, record = flag(ARGV[at + 5]), old[id]
  local starts, asked, who, by, state, last, first = '0', 0, '', nil, nil, nil, '0'
  if write and record then
    local length, rest
    starts, asked, length, rest = string.match(record, '^(%d+) (%d+) %d+ %d+ (%d+) (.*)$')
    who = string.sub(rest, 1, length)
    by, state, last, first = string.match(who, '^(.*)\31(%l)(%d+) (%d+)$')
    if delivery > 0 and state == 'e' and tonumber(last) == delivery and by == consumer then return 'd' end
  end

  local times = delivered(id)
  if not times then return 'n' end
  local claimed
  if uncount then
    claimed = redis.call('XCLAIM', stream, group, consumer, 0, id, 'IDLE', idle, 'JUSTID',
      'RETRYCOUNT', delivery > 0 and delivery - 1 or math.max(0, times - 1))
  else
    claimed = redis.call('XCLAIM', stream, group, consumer, 0, id, 'IDLE', idle, 'JUSTID')
  end
  if not claimed[1] then return 'g' end
  if not write then return 'd' end

  if not uncount then
    state, last = 'e', string.format('%.0f', times)
    if times == 1 and (first or '0') == '0' then first = string.format('%.0f', now - ago) end
  end
  who = consumer
  if state then who = who .. '\31' .. state .. last .. ' ' .. (first or '0') end
  new[#new + 1] = id
  new[#new + 1] = string.format('%s %.0f %.0f %.0f %d ', starts, asked + ARGV[at + 4],
    after >= 0 and now + after or 0, now, #who) .. who .. ' ' .. ARGV[at + 8]
  return 'd'
end

local statuses, seen = {}, {}
for entry = 1, count do
  local at = 6 + (entry - 1) * 9
  statuses[entry] = seen[ARGV[at]] and 'n' or put(at) -- an id that comes twice is put back once
  seen[ARGV[at]] = true
end
if #new > 0 then redis.call('HSET', records, unpack(new)) end
return table.concat(statuses)
