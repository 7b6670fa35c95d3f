-- Publishes messages and acknowledges their entries, each only if it is pending
-- under the consumer and its key is not marked; marks the key.
--
-- KEYS[1]   the stream; KEYS[2] the group's records; KEYS[3]… destinations; with a window, the last two hold marks
-- ARGV[1]   group, [2] consumer, [3] number of entries, [4] first id, [5] last id
-- ARGV[6]   the window of the marks (ms), 0 where no entry has a key; else follow the keys of all, "" for none
-- ARGV[…]   runs of entries with messages of the same shape: number of entries, 1 to drop their records or 0 and
--           2 more if they are out of the pending list and known to be, number of messages of each entry, and for
--           each of these the index of its destination in KEYS and the number of its arguments;
--           then the entries: id, and per message the arguments of XADD after the key
-- Replies   statuses, one letter an entry: d done, n not owned, r refused, t torn, m marked before;
--           then, for every r and t: its index from 0, the index of the message (-1: the mark), the server's error;
--           for every m, and every n whose key the same entry has marked: its index, -1, the mark
--
-- XADD and HSET come before XACK, so that a full server refuses them while nothing has been written yet.
--
-- Marks are in two hashes, of which the one that was begun later is written to. "" holds when it was begun; the
-- other fields are keys, each with when it was marked and the entry that did it. When the window has passed since
-- it was begun, nothing of the other one is younger than the window: that one is emptied and begun anew.
local call, try = redis.call, redis.pcall
local stream, group, consumer, count = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])

-- One page of the consumer's pending list holds every entry of the batch, unless it is full of others.
local page = call('XPENDING', stream, group, ARGV[4], ARGV[5], count, consumer)
local full = #page == count
local owned = {}
for i = 1, #page do owned[page[i][1]] = true end

-- A message for a key of another type is refused before anything is written for its entry.
local window, wrong = ARGV[6] + 0, {}
for i = 3, #KEYS - (window > 0 and 2 or 0) do
  local kind = call('TYPE', KEYS[i]).ok
  if kind ~= 'stream' and kind ~= 'none' then
    wrong[i] = 'WRONGTYPE the key ' .. KEYS[i] .. ' holds a ' .. kind .. ', not a stream'
  end
end

-- What is known of the keys.
local at, marks = 7, nil
if window > 0 then
  local time = call('TIME')
  marks = { now = time[1] * 1000 + math.floor(time[2] / 1000), begun = {}, by = {}, sets = { KEYS[#KEYS - 1], KEYS[#KEYS] } }
  marks.stamp = string.format('%.0f', marks.now)
  at = at + count
  local keys, times = {}, {}
  for i = 1, count do
    if ARGV[6 + i] ~= '' then keys[#keys + 1] = ARGV[6 + i] end
  end
  for i, set in ipairs(marks.sets) do
    local kind = call('TYPE', set).ok
    if kind == 'hash' then
      marks.begun[i] = tonumber(call('HGET', set, '') or '')
      local found = call('HMGET', set, unpack(keys))
      for n, key in ipairs(keys) do
        local since = found[n] and tonumber(string.match(found[n], '^%d+')) or -window
        if marks.now - since < window and since >= (times[key] or 0) then
          marks.by[key], times[key] = found[n], since
        end
      end
    elseif kind ~= 'none' then
      marks.wrong = 'WRONGTYPE the key ' .. set .. ' holds a ' .. kind .. ', not a hash'
    end
  end
end

-- Marks a key, or returns the server's error.
local function mark(key, id)
  local text, done = marks.stamp .. ' ' .. id, nil
  if marks.set then
    done = try('HSET', marks.set, key, text)
  else
    local one, two = marks.begun[1], marks.begun[2]
    local latest = (one or -1) >= (two or -1) and 1 or 2
    local begun = marks.begun[latest]
    if begun and marks.now - begun >= window then
      latest, begun = 3 - latest, nil
      local freed = try('UNLINK', marks.sets[latest])
      if type(freed) == 'table' then return freed.err end
    end
    done = try('HSET', marks.sets[latest], key, text, '', begun and string.format('%.0f', begun) or marks.stamp)
    if type(done) ~= 'table' then marks.set = marks.sets[latest] end
  end
  if type(done) == 'table' then return done.err end
  marks.by[key] = text
end

local statuses, problems, acks, forgets = {}, {}, {}, {}
local entry = 0
while entry < count do
  local last, flags, messages = entry + ARGV[at], ARGV[at + 1], ARGV[at + 2] + 0
  local forget, gone = flags == '1' or flags == '3', flags == '2' or flags == '3'
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
    local key, known
    at = at + 1
    if marks and ARGV[6 + entry] ~= '' then
      key = ARGV[6 + entry]
      known = marks.by[key]
    end
    local mine = owned[id]
    if mine or gone or mine == nil and full and #call('XPENDING', stream, group, id, id, 1, consumer) == 1 then
      status = 'd'
      owned[id] = false -- an id that comes twice is done once
      if known then
        status, problem, problem_at = 'm', known, 0
      elseif key and marks.wrong then
        status, problem, problem_at = 'r', marks.wrong, 0
      elseif refusal then
        status, problem, problem_at = 'r', refusal, culprit
      end
    elseif known and string.match(known, '%S+$') == id then
      problem, problem_at = known, 0
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
    if key and (status == 'd' or status == 't') then
      local refused = mark(key, id)
      if refused and status == 'd' then
        status, problem, problem_at = messages > 0 and 't' or 'r', refused, 0
      end
    end
    if status == 'd' or status == 't' or status == 'm' then
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
if marks and marks.set then call('PEXPIRE', marks.set, string.format('%.0f', 2 * window)) end
if #acks > 0 then call('XACK', stream, group, unpack(acks)) end
if #forgets > 0 then call('HDEL', KEYS[2], unpack(forgets)) end
return { table.concat(statuses), unpack(problems) }
