-- Creates a group, and its stream if need be, and writes down where it starts.
-- A group that has a floor already was lost and is created there.
--
-- KEYS[1]   the stream; KEYS[2] the group's floor
-- ARGV[1]   group, [2] start
-- ARGV[3]   where the floor is, "" for no floor; [4] the floor as it was read
-- ARGV[5]   1: without a floor a lost group is created at the beginning
-- Replies   1 and the position if it was created, 0 if it existed, -1 if the floor was changed meanwhile,
--           -2 and the server's error if it refuses to create it
local stream, floor, group, start = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

local kind = redis.call('TYPE', stream).ok
local groups = kind == 'none' and {} or redis.call('XINFO', 'GROUPS', stream)
local function field(info, name)
  for i = 1, #info, 2 do
    if info[i] == name then return info[i + 1] end
  end
end
for i = 1, #groups do
  if field(groups[i], 'name') == group then return { 0 } end
end
if (redis.call('GET', floor) or '') ~= ARGV[4] then return { -1 } end

-- a is before b, for ids: numbers too large for Lua, without leading zeros.
local function less(a, b) return #a < #b or #a == #b and a < b end
local function before(a, b)
  local am, as = string.match(a, '^(%d+)-(%d+)$')
  local bm, bs = string.match(b, '^(%d+)-(%d+)$')
  return less(am, bm) or am == bm and less(as, bs)
end

local last, added = '0-0', nil
if kind ~= 'none' then
  local info = redis.call('XINFO', 'STREAM', stream)
  last, added = field(info, 'last-generated-id'), field(info, 'entries-added')
end
if ARGV[3] ~= '' then
  start = before(last, ARGV[3]) and '0-0' or ARGV[3]
elseif ARGV[5] == '1' then
  start = '0-0'
end
-- From 7.0 on a group at the end is told how many entries lie before it: its lag is unknown otherwise.
local create = { 'XGROUP', 'CREATE', stream, group, start, 'MKSTREAM' }
if added and (start == '$' or start == last) then
  create[7], create[8] = 'ENTRIESREAD', added
end
local done = redis.pcall(unpack(create))
if done.err then return { -2, done.err } end
groups = redis.call('XINFO', 'GROUPS', stream)
for i = 1, #groups do
  if field(groups[i], 'name') == group then
    local at = field(groups[i], 'last-delivered-id')
    redis.call('SET', floor, at)
    return { 1, at }
  end
end
