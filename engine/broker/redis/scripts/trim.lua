-- Removes old entries that every group has acknowledged, for servers without
-- XTRIM … ACKED.
--
-- KEYS[1]   the stream
-- ARGV[1]   length to keep or 0, [2] id before which entries go or "0-0"
-- Replies   how many were removed: a few at a time, so that their bodies, which XRANGE brings along, stay small
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
local to = last and ((exclusive and '(' or '') .. last) or '+'

local excess = length > 0 and redis.call('XLEN', stream) - length or 0
if excess <= 0 and minid == '0-0' then return 0 end
local first = redis.call('XRANGE', stream, '-', to, 'COUNT', 1)
if #first == 0 then return 0 end
local size = 1
for _, text in ipairs(first[1][2]) do size = size + #text end
local step = math.max(1, math.min(100, math.floor(262144 / size)))

local ids = {}
for i, entry in ipairs(redis.call('XRANGE', stream, '-', to, 'COUNT', step)) do
  if i <= excess or before(entry[1], minid) then ids[#ids + 1] = entry[1] end
end
if #ids == 0 then return 0 end
return redis.call('XDEL', stream, unpack(ids))
