-- Moves a group to a position, and its floor with it. What is pending behind the position goes out of the pending
-- list: it is delivered as new.
--
-- KEYS[1]   the stream; KEYS[2] the group's floor; KEYS[3] its records; KEYS[4] who is alive in it
-- ARGV[1]   group, [2] the position, [3] where the group was seen, "" for anywhere
-- ARGV[4]   1: never move it forward, one step of several
-- Replies   what became of it, and where the group stood;
--             0 it was moved: how many entries were taken out of the pending list, and where it stands
--             1 it was seen elsewhere, and more would be delivered again or passed over
--             2 entries behind the position are pending, and consumers are alive: how many, and until when (ms)
--             3 the position is beyond the last id of the stream
--             4 more than 1,000 entries behind the position are pending
--            -2 and the server's error: it refuses to move the group
--
-- XREADGROUP gives an entry again to a group that was moved back although it is pending, and takes it from whoever holds it: that
-- is why such entries are taken out, and only where nobody is alive.
local stream, floor, records, group, to = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local max, most = '18446744073709551615-18446744073709551615', 1000

local function less(a, b) return #a < #b or #a == #b and a < b end
local function before(a, b)
  local am, as = string.match(a, '^(%d+)-(%d+)$')
  local bm, bs = string.match(b, '^(%d+)-(%d+)$')
  return less(am, bm) or am == bm and less(as, bs)
end
local function field(info, name)
  for i = 1, #info, 2 do
    if info[i] == name then return info[i + 1] end
  end
end

local pending = redis.call('XPENDING', stream, group)
local at
for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  if field(info, 'name') == group then at = field(info, 'last-delivered-id') end
end
local info = redis.call('XINFO', 'STREAM', stream)
local last, added = field(info, 'last-generated-id'), field(info, 'entries-added')
if before(last, to) then return { 3, at } end
if ARGV[3] ~= '' and (before(at, to) and before(at, ARGV[3]) or before(to, at) and before(ARGV[3], at)) then return { 1, at } end

-- Nothing is after the highest id, and a server refuses to look there.
local behind = to == max and {} or redis.call('XPENDING', stream, group, '(' .. to, '+', most + 1)
if #behind > 0 then
  local time = redis.call('TIME')
  local alive = redis.call('ZRANGEBYSCORE', KEYS[4], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), '(1000000000000000', 'WITHSCORES')
  if #alive > 0 then return { 2, at, #alive / 2, tonumber(alive[#alive]) } end
end
if #behind > most then return { 4, at } end
if ARGV[4] == '1' and before(at, to) then to = at end

-- A login that may not do what comes last is refused before anything is done; and a full server takes the floor
-- after a first write.
redis.call('XACK', stream, group, '0-0')
redis.call('HDEL', records, '')

-- The floor comes first, and is put back where the group is not moved: never may one move without the other.
local function floorOf(position)
  return pending[1] > 0 and not before(position, pending[2]) and '(' .. pending[2] or position
end
local old = redis.call('GET', floor) or floorOf(at)
redis.call('SET', floor, floorOf(to))
-- From 7.0 on a group at the end is told how many entries lie before it: its lag is unknown otherwise.
local seek = { 'XGROUP', 'SETID', stream, group, to }
if added and to == last then
  seek[6], seek[7] = 'ENTRIESREAD', added
end
local done = redis.pcall(unpack(seek))
if done.err then
  redis.call('SET', floor, old)
  return { -2, done.err }
end
if #behind > 0 then
  local ids = {}
  for i = 1, #behind do ids[i] = behind[i][1] end
  redis.call('XACK', stream, group, unpack(ids))
  redis.call('HDEL', records, unpack(ids))
end
return { 0, at, #behind, to }
