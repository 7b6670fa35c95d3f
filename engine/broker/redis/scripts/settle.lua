-- Publishes messages and acknowledges their entries, each only if it is pending
-- under the consumer and its key is not marked; marks the key.
--
-- KEYS[1]   the stream; KEYS[2] the group's records; KEYS[3]… destinations; with a window, the last two hold marks
-- ARGV[1]   all else, packed as one array of MessagePack: thousands of arguments cost the server more than they say
--   [1] group, [2] consumer, [3] number of entries, [4] lowest id, [5] highest id, [6] all ids, with blanks between
--   [7] the window of the marks (ms), 0 where no entry has a key; else follow the keys of all, "" for none
--   […] runs of entries with messages of the same shape: number of entries, 1 to drop their records or 0 and
--       2 more if they are out of the pending list and known to be, number of messages of each entry, and for
--       each of these the index of its destination in KEYS, the length to trim that to or 0, the number of fields
--       and their names; then the entries: per message the values of its fields
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
local given = cmsgpack.unpack(ARGV[1])
local stream, group, consumer, count = KEYS[1], given[1], given[2], given[3]

-- One page of the consumer's pending list holds every entry of the batch, unless it is full of others. Where the
-- batch is just the page, as it nearly always is, all are owned, and one comparison says so.
local page = call('XPENDING', stream, group, given[4], given[5], count, consumer)
local full = #page == count
local ids, owned = {}, nil
for i = 1, #page do ids[i] = page[i][1] end
if not full or table.concat(ids, ' ') ~= given[6] then
  owned = {}
  for i = 1, #page do owned[ids[i]] = true end
  ids = {}
  for id in string.gmatch(given[6], '%S+') do ids[#ids + 1] = id end
end

-- A message for a key of another type is refused before anything is written for its entry.
local window, wrong = given[7], {}
for i = 3, #KEYS - (window > 0 and 2 or 0) do
  local kind = call('TYPE', KEYS[i]).ok
  if kind ~= 'stream' and kind ~= 'none' then
    wrong[i] = 'WRONGTYPE the key ' .. KEYS[i] .. ' holds a ' .. kind .. ', not a stream'
  end
end

-- What is known of the keys.
local at, marks = 8, nil
if window > 0 then
  local time = call('TIME')
  marks = { now = time[1] * 1000 + math.floor(time[2] / 1000), begun = {}, by = {}, sets = { KEYS[#KEYS - 1], KEYS[#KEYS] } }
  marks.stamp = string.format('%.0f', marks.now)
  at = at + count
  local keys, times = {}, {}
  for i = 1, count do
    if given[7 + i] ~= '' then keys[#keys + 1] = given[7 + i] end
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
  local last, flags, messages = entry + given[at], given[at + 1], given[at + 2]
  local forget, gone = flags % 2 == 1, flags >= 2
  at = at + 3
  -- For each message its XADD, in which only the values are wanting, how many these are, and the place before them.
  local adds, sizes, starts, refusal, culprit = {}, {}, {}, nil, nil
  for m = 1, messages do
    local key, length, size = given[at], given[at + 1], given[at + 2]
    local add = { 'XADD', KEYS[key] }
    if length > 0 then add[3], add[4], add[5] = 'MAXLEN', '~', length end
    add[#add + 1] = '*'
    adds[m], sizes[m], starts[m] = add, size, #add
    for i = 1, size do
      add[#add + 1] = given[at + 2 + i]
      add[#add + 1] = ''
    end
    if wrong[key] and not refusal then refusal, culprit = wrong[key], m end
    at = at + 3 + size
  end
  if messages == 1 and not owned and not marks and not refusal then
    -- The straight way: nothing stands in the way of any of them.
    local add, place, size = adds[1], starts[1] + 2, sizes[1]
    while entry < last do
      entry = entry + 1
      for i = 0, size - 1 do add[place + 2 * i] = given[at + i] end
      at = at + size
      local done = try(unpack(add))
      if type(done) ~= 'table' then
        statuses[entry] = 'd'
        acks[#acks + 1] = ids[entry]
        if forget then forgets[#forgets + 1] = ids[entry] end
      else
        statuses[entry] = 'r'
        local n = #problems
        problems[n + 1], problems[n + 2], problems[n + 3] = tostring(entry - 1), '0', done.err
      end
    end
  end
  while entry < last do
    entry = entry + 1
    local id, status, problem, problem_at = ids[entry], 'n', nil, nil
    local key, known
    if marks and given[7 + entry] ~= '' then
      key = given[7 + entry]
      known = marks.by[key]
    end
    local mine = true
    if owned then mine = owned[id] end
    if mine or gone or mine == nil and full and #call('XPENDING', stream, group, id, id, 1, consumer) == 1 then
      status = 'd'
      if owned then owned[id] = false end -- an id that comes twice is done once
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
      if status == 'd' then
        local add, place = adds[m], starts[m]
        for i = 0, sizes[m] - 1 do add[place + 2 + 2 * i] = given[at + i] end
        local done = try(unpack(add))
        if type(done) == 'table' then
          status, problem, problem_at = m == 1 and 'r' or 't', done.err, m
        end
      end
      at = at + sizes[m]
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
