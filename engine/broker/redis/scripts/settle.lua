-- Publishes messages and acknowledges their entries, each only if it is pending
-- under the consumer.
--
-- KEYS[1]   the stream; KEYS[2] the group's records; KEYS[3]… destinations
-- ARGV[1]   group, [2] consumer, [3] number of entries, [4] first id, [5] last id
-- ARGV[6]…  runs of entries with messages of the same shape: number of entries, 1 to drop their records or 0,
--           number of messages of each entry, and for each of these the index of its destination in KEYS and
--           the number of its arguments; then the entries: id, and per message the arguments of XADD after the key
-- Replies   statuses, one letter an entry: d done, n not owned, r refused, t torn;
--           then, for every r and t: its index from 0, the index of the message, the server's error
--
-- XADD comes before XACK, so that a full server refuses it while nothing has been written yet.
local call, try = redis.call, redis.pcall
local stream, group, consumer, count = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])

-- One page of the consumer's pending list holds every entry of the batch, unless it is full of others.
local page = call('XPENDING', stream, group, ARGV[4], ARGV[5], count, consumer)
local full = #page == count
local owned = {}
for i = 1, #page do owned[page[i][1]] = true end

-- A message for a key of another type is refused before anything is written for its entry.
local wrong = {}
for i = 3, #KEYS do
  local kind = call('TYPE', KEYS[i]).ok
  if kind ~= 'stream' and kind ~= 'none' then
    wrong[i] = 'WRONGTYPE the key ' .. KEYS[i] .. ' holds a ' .. kind .. ', not a stream'
  end
end

local statuses, problems, acks, forgets = {}, {}, {}, {}
local at, entry = 6, 0
while entry < count do
  local last, forget, messages = entry + ARGV[at], ARGV[at + 1] == '1', ARGV[at + 2] + 0
  at = at + 3
  local destinations, sizes, refusal, culprit = {}, {}, nil, nil
  for m = 1, messages do
    local key = ARGV[at] + 0
    destinations[m], sizes[m] = KEYS[key], ARGV[at + 1] + 0
    if wrong[key] and not refusal then refusal, culprit = wrong[key], m end
    at = at + 2
  end
  while entry < last do
    entry = entry + 1
    local id, status, problem, problem_at = ARGV[at], 'n', nil, nil
    at = at + 1
    local mine = owned[id]
    if mine or mine == nil and full and #call('XPENDING', stream, group, id, id, 1, consumer) == 1 then
      status = 'd'
      owned[id] = false -- an id that comes twice is done once
      if refusal then status, problem, problem_at = 'r', refusal, culprit end
    end
    for m = 1, messages do
      local next = at + sizes[m]
      if status == 'd' then
        local done = try('XADD', destinations[m], unpack(ARGV, at, next - 1))
        if type(done) == 'table' then
          status, problem, problem_at = m == 1 and 'r' or 't', done.err, m
        end
      end
      at = next
    end
    if status == 'd' or status == 't' then
      acks[#acks + 1] = id
      if forget then forgets[#forgets + 1] = id end
    end
    if problem then
      local n = #problems
      problems[n + 1], problems[n + 2], problems[n + 3] = tostring(entry - 1), tostring(problem_at - 1), problem
    end
    statuses[entry] = status
  end
end
if #acks > 0 then call('XACK', stream, group, unpack(acks)) end
if #forgets > 0 then call('HDEL', KEYS[2], unpack(forgets)) end
return { table.concat(statuses), unpack(problems) }
