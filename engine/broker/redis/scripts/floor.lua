-- Writes down the position from which the group would have to be read again if
-- it were lost, and sweeps records of entries that are settled for certain.
--
-- KEYS[1]   the stream; KEYS[2] the group's floor; KEYS[3] its records
-- ARGV[1]   group, [2] cursor of the sweep
-- Replies   the next cursor of the sweep
--
-- A floor is an id, or "(" and an id for the position just before it: ids are too large to count down here.
local stream, floor, records, group = KEYS[1], KEYS[2], KEYS[3], ARGV[1]

local function less(a, b) return #a < #b or #a == #b and a < b end
local function compare(a, b)
  local am, as = string.match(a, '(%d+)-(%d+)$')
  local bm, bs = string.match(b, '(%d+)-(%d+)$')
  if am == bm and as == bs then return 0 end
  return (less(am, bm) or am == bm and less(as, bs)) and -1 or 1
end

local pending = redis.call('XPENDING', stream, group)
local at
if pending[1] > 0 then
  at = '(' .. pending[2]
else
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local name, last
    for i = 1, #info, 2 do
      if info[i] == 'name' then name = info[i + 1] end
      if info[i] == 'last-delivered-id' then last = info[i + 1] end
    end
    if name == group then at = last end
  end
end

-- A record belongs to a pending entry. Those from before the oldest pending one were left by a crash.
local cursor = '0'
if pending[1] == 0 then
  redis.call('DEL', records)
else
  local page = redis.call('HSCAN', records, ARGV[2], 'COUNT', 100)
  cursor = page[1]
  for i = 1, #page[2], 2 do
    if compare(page[2][i], pending[2]) < 0 then redis.call('HDEL', records, page[2][i]) end
  end
end

local old = redis.call('GET', floor)
local forward = not old
if old then
  local c = compare(at, old)
  forward = c > 0 or c == 0 and string.sub(old, 1, 1) == '(' and string.sub(at, 1, 1) ~= '('
end
if forward then redis.call('SET', floor, at) end
return cursor
