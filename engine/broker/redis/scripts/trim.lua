-- Removes old entries that every group has acknowledged.
--
-- KEYS[1]   the stream
-- ARGV[1]   length to keep or 0, [2] id before which entries go or "0-0"
-- Replies   how many were removed: at most 1,000, fewer where bodies are large
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

-- Acknowledged by all: what lies before the oldest pending entry of each group, and where a group has
-- none pending, up to its last delivered one.
local last, exclusive
for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local name, at, pending
  for i = 1, #info, 2 do
    if info[i] == 'name' then name = info[i + 1] end
    if info[i] == 'last-delivered-id' then at = info[i + 1] end
    if info[i] == 'pending' then pending = info[i + 1] end
  end
  if pending > 0 then at = redis.call('XPENDING', stream, name)[2] end
  if not last or before(at, last) or at == last and pending > 0 then
    last, exclusive = at, pending > 0
  end
end
local function acknowledged(id)
  return not last or before(id, last) or id == last and not exclusive
end

local excess = length > 0 and redis.call('XLEN', stream) - length or 0
if excess <= 0 and minid == '0-0' then return 0 end

-- XRANGE brings bodies along, so pages grow only as far as the bodies seen so far allow.
local n, bytes, page, from, done = 0, 0, 1, '-', false
while not done and page > 0 do
  local entries = redis.call('XRANGE', stream, from, '+', 'COUNT', page)
  done = #entries < page
  for _, entry in ipairs(entries) do
    if not acknowledged(entry[1]) or n >= excess and not before(entry[1], minid) then
      done = true
      break
    end
    n, from = n + 1, '(' .. entry[1]
    for _, text in ipairs(entry[2]) do bytes = bytes + #text end
  end
  page = math.min(4 * page, 1000 - n, math.floor((262144 - bytes) / (bytes / n + 1)))
end
if n == 0 then return 0 end
local next = redis.call('XRANGE', stream, from, '+', 'COUNT', 1)[1]
if next then return redis.call('XTRIM', stream, 'MINID', '=', next[1]) end
return redis.call('XTRIM', stream, 'MAXLEN', '=', 0)
