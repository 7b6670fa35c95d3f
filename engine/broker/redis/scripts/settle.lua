-- Publishes messages and acknowledges their entries, each only if it is pending
-- under the consumer.
--
-- KEYS[1]   the stream; KEYS[2] the group's records; KEYS[3]… destinations
-- ARGV[1]   group, [2] consumer, [3] number of entries, [4] first id, [5] last id
-- ARGV[6]…  per entry, by id: id, 1 to drop its record or 0, number of messages; then per message:
--           index of its destination in KEYS, number of arguments, the arguments of XADD after the key
-- Replies   statuses, one letter an entry: d done, n not owned, r refused, t torn;
--           then, for every r and t: its index from 0, the index of the message, the server's error
--
-- XADD comes before XACK, so that a full server refuses it while nothing has been written yet.
local stream, group, consumer, count = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])

-- One page of the consumer's pending list holds every entry of the batch, unless it is full of others.
local page = redis.call('XPENDING', stream, group, ARGV[4], ARGV[5], count, consumer)
local full = #page == count
local owned = {}
for i = 1, #page do owned[page[i][1]] = true end
local function mine(id)
  if owned[id] then return true end
  return full and #redis.call('XPENDING', stream, group, id, id, 1, consumer) == 1
end

-- A message for a key of another type is refused before anything is written for its entry.
local wrong = {}
for i = 3, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'stream' and kind ~= 'none' then
    wrong[i] = 'WRONGTYPE the key ' .. KEYS[i] .. ' holds a ' .. kind .. ', not a stream'
  end
end

local statuses, problems, acks, forgets = {}, {}, {}, {}
local at = 6
for entry = 1, count do
  local id, forget, messages = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  at = at + 3
  local status, problem, culprit = 'd', nil, 0
  local first, live = at, mine(id)
  if not live then status = 'n' end
  for m = 1, messages do
    local destination, size = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
    if live and not problem and wrong[destination] then problem, culprit = wrong[destination], m - 1 end
    at = at + 2 + size
  end
  if problem then status = 'r' end
  if status == 'd' then
    local next = first
    for m = 1, messages do
      local size = tonumber(ARGV[next + 1])
      local done = redis.pcall('XADD', KEYS[tonumber(ARGV[next])], unpack(ARGV, next + 2, next + 1 + size))
      next = next + 2 + size
      if type(done) == 'table' and done.err then
        problem, culprit = done.err, m - 1
        status = m == 1 and 'r' or 't'
        break
      end
    end
  end
  if status == 'd' or status == 't' then
    acks[#acks + 1] = id
    if forget == '1' then forgets[#forgets + 1] = id end
  end
  if problem then
    problems[#problems + 1] = tostring(entry - 1)
    problems[#problems + 1] = tostring(culprit)
    problems[#problems + 1] = problem
  end
  statuses[entry] = status
end
if #acks > 0 then redis.call('XACK', stream, group, unpack(acks)) end
if #forgets > 0 then redis.call('HDEL', KEYS[2], unpack(forgets)) end
return { table.concat(statuses), unpack(problems) }
