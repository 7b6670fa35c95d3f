-- Moves what time means to a stream and one of its groups, so that what was so at the server's time "from" is so at
-- its time "to", "step" later.
--
-- KEYS[1]  the stream; the others are beside the group
-- ARGV[1]  the group, [2] from, [3] to, [4] step, [5] the clock's time, [6] how long keys are kept; all in ms
-- ARGV[7]  what the keys are, a letter each: s stream, r records, a who is alive, m marks, l lease, f floor
-- ARGV[8]… per pending entry, in the order in which they were touched: id, consumer, when it is to be touched last
--
-- XCLAIM drops an entry whose body is gone, which passing time does not: such an entry stays as it is. It gives none of
-- them a time after the server's own, and those of "to" are not.
-- Records begin with "starts asked due at", marks with "at"; a due of 0 is none. What was written after "from" was
-- written then. Behind a record's consumer stands the first delivery, which was written with the end of that. Who is
-- alive has times among other numbers: those that no other number reaches, positive or negative.
local stream, group = KEYS[1], ARGV[1]
local from, to, step, now, keep = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local kinds, firstTime = ARGV[7], 1e12

local function text(n) return string.format('%.0f', n) end
local function shifted(at, written) return text(math.max(1, at + to - from - step - math.max(0, written - from))) end

local function lastID()
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return tonumber(string.match(info[i + 1], '^%d+')) end
  end
end

if redis.call('TYPE', stream).ok == 'stream' then
  if lastID() < now then redis.call('XSETID', stream, text(now) .. '-0') end
  for i = 8, #ARGV, 3 do
    if #redis.call('XRANGE', stream, ARGV[i], ARGV[i]) > 0 then
      redis.call('XCLAIM', stream, group, ARGV[i + 1], 0, ARGV[i], 'TIME', ARGV[i + 2], 'JUSTID')
    end
  end
end

local age = {}

function age.r(key)
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local counts, due, at, length, rest = string.match(all[i + 1], '^(%d+ %d+ )(%d+) (%d+) (%d+) (.*)$')
    local who, reason = string.sub(rest, 1, length), string.sub(rest, length + 1)
    local head, first = string.match(who, '^(.*\31%l%d+ )(%d+)$')
    if first and first ~= '0' then who = head .. shifted(first, from) end
    if due ~= '0' then due = shifted(due, at + 0) end
    redis.call('HSET', key, all[i], counts .. due .. ' ' .. shifted(at, at + 0) .. ' ' .. #who .. ' ' .. who .. reason)
  end
end

function age.m(key)
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local at, rest = string.match(all[i + 1], '^(%d+)(.*)$')
    redis.call('HSET', key, all[i], shifted(at, at + 0) .. rest)
  end
end

function age.a(key)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, firstTime, '+inf')) do
    redis.call('ZINCRBY', key, text(to - from - step), member)
  end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', '(' .. text(-firstTime))) do
    redis.call('ZINCRBY', key, text(step - to + from), member)
  end
end

for i, key in ipairs(KEYS) do
  local kind = string.sub(kinds, i, i)
  if age[kind] then age[kind](key) end
  local left = (kind == 'l' or kind == 'm' or kind == 'a') and redis.call('PTTL', key) or -1
  if left >= 0 then
    left = left + to - from - step
    if left <= 0 then redis.call('DEL', key) else redis.call('PEXPIRE', key, text(left)) end
  else
    redis.call('PEXPIRE', key, keep)
  end
end
