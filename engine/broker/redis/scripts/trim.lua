-- Removes old entries that every group has acknowledged.
--
-- KEYS[1]   the stream
-- ARGV[1]   length to keep or 0, [2] id before which entries go or "0-0"
-- Replies   how many were removed. It looks at the oldest 1,000 entries, fewer where bodies are large: more than
--           that which are not acknowledged hold up what lies behind them.
--
-- XTRIM … ACKED is not used where there is one: it looks at every entry that is not acknowledged, at every call
-- and past its LIMIT, which blocks the server for seconds over a large backlog.
local stream, length, minid = KEYS[1], tonumber(ARGV[1]), ARGV[2]

local function less(a, b) return #a < #b or #a == #b and a < b end
local function before(a, b)
  local am, as = string.match(a, '^(%d+)-(%d+)$')
  local bm, bs = string.match(b, '^(%d+)-(%d+)$')
  return less(am, bm) or am == bm and less(as, bs)
end

if redis.call('TYPE', stream).ok == 'none' then return 0 end
local excess = length > 0 and redis.call('XLEN', stream) - length or 0
if excess <= 0 and minid == '0-0' then return 0 end

-- An entry is acknowledged by a group that was given it and does not have it pending.
local delivered, busy = nil, {}
for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local name, at, pending
  for i = 1, #info, 2 do
    if info[i] == 'name' then name = info[i + 1] end
    if info[i] == 'last-delivered-id' then at = info[i + 1] end
    if info[i] == 'pending' then pending = info[i + 1] end
  end
  if pending > 0 then busy[#busy + 1] = name end
  if not delivered or before(at, delivered) then delivered = at end
end
-- Ids whose body is gone are pending among the others, so that a page of them may end before the last entry does.
local function pending(first, last, count)
  local found = {}
  for _, group in ipairs(busy) do
    local from, list = first, nil
    repeat
      list = redis.call('XPENDING', stream, group, from, last, count)
      for _, entry in ipairs(list) do found[entry[1]] = true end
      if #list > 0 then from = '(' .. list[#list][1] end
    until #list < count or list[#list][1] == last
  end
  return found
end

-- Nothing is after this id, and a server refuses to look there.
local max = '18446744073709551615-18446744073709551615'

-- XRANGE brings bodies along, so pages grow only as far as the bodies seen so far allow.
local gone, seen, bytes, page, from, done = {}, 0, 0, 1, '-', false
while not done and page > 0 do
  local entries = redis.call('XRANGE', stream, from, '+', 'COUNT', page)
  done = #entries < page
  local held = #entries > 0 and pending(entries[1][1], entries[#entries][1], #entries)
  for _, entry in ipairs(entries) do
    local id = entry[1]
    if delivered and before(delivered, id) or #gone >= excess and not before(id, minid) then
      done = true
      break
    end
    if not held[id] then gone[#gone + 1] = id end
    seen, from = seen + 1, '(' .. id
    for _, text in ipairs(entry[2]) do bytes = bytes + #text end
  end
  if from == '(' .. max then break end
  page = math.min(4 * page, 1000 - seen, math.floor((262144 - bytes) / (bytes / seen + 1)))
end
if #gone == 0 then return 0 end

-- An unbroken run from the start goes whole nodes at a time.
local next = #gone == seen and from ~= '(' .. max and redis.call('XRANGE', stream, from, '+', 'COUNT', 1)[1]
if next then return redis.call('XTRIM', stream, 'MINID', '=', next[1]) end
return redis.call('XDEL', stream, unpack(gone))
