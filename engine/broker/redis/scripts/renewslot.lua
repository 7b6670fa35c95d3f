-- Extends a lease if the token still holds it, takes one back that ran out and that
-- nobody has taken, or gives it up, and announces to the others of the group that
-- the token is alive.
--
-- KEYS[1]   the lease; KEYS[2] who is alive in the group
-- ARGV[1]   token, [2] time to live (ms), 0 to give it up and to announce nothing any more
-- ARGV[3]   min_idle (ms) with which it claims, 0 for not at all
-- ARGV[4]   the min_idle (ms) by which it renews what it holds, 0 for not at all
-- ARGV[5]   time to live of what it announces (ms)
-- Replies   1 if nobody else holds the lease, 0 if somebody does; the smallest min_idle of all alive, 0 for none;
--           the largest min_idle by which anyone renews, -1 if somebody does not renew; the time (ms);
--           for how long another one has not been heard of, the longest (ms, at least 1), 0 if there is none
--
-- Who is alive is one sorted set with four members for each token, told apart by the range of their scores:
-- h:token  when it was last heard of     (ms of the server's clock and 1e15)
-- u:token  until when it counts as alive (ms of the server's clock: above 1e12)
-- m:token  its min_idle                  (1 to below 1e12)
-- f:token  what it renews by, negative   (-1e12, "never", to below 0)
-- Who is found not to have been heard of for longer than it counts as alive may be cut off from the server only and
-- be back within a third of what it renews by and 2 s: for so long there stay h:token, f:token and
-- x:token  until when, negative          (below -1e12)
-- So each question is one range, however many are alive. PEXPIRE comes before ZADD: a full server accepts
-- ZADD only after a first write, and a slot must not be lost for that. Where it does not even take the lease
-- back, nobody else can take it either. Whatever else is refused, a right that is missing above all, is an error.
local slot, alive, token = KEYS[1], KEYS[2], ARGV[1]
local never, first = '1000000000000', 1000000000000000

local function doneOrFull(reply) return type(reply) ~= 'table' or not reply.err or string.find(reply.err, 'OOM', 1, true) end
local function text(ms) return string.format('%.0f', ms) end

local prefix = token .. ' '
local value = redis.call('GET', slot)
local held = value and string.sub(value, 1, #prefix) == prefix

if ARGV[2] == '0' then
  if held then redis.call('DEL', slot) end
  redis.call('ZREM', alive, 'u:' .. token, 'm:' .. token, 'f:' .. token, 'h:' .. token, 'x:' .. token)
  return { held and 1 or 0, 0, 0, 0, 0 }
end
if held then
  redis.call('PEXPIRE', slot, ARGV[2])
elseif not value then
  local taken = redis.pcall('SET', slot, prefix .. ARGV[3], 'PX', ARGV[2])
  if not doneOrFull(taken) then return taken end
  held = true
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local follows = ARGV[4] == '0' and never or ARGV[4]
local announced = { 'ZADD', alive, text(first + now), 'h:' .. token, text(now + ARGV[5]), 'u:' .. token, '-' .. follows, 'f:' .. token }
local function announce(score, member)
  announced[#announced + 1] = score
  announced[#announced + 1] = member
end
if ARGV[3] ~= '0' then announce(ARGV[3], 'm:' .. token) end
local past = { 'ZREM', alive, 'x:' .. token }
if ARGV[3] == '0' then past[#past + 1] = 'm:' .. token end
local function range(from, to, most) return redis.call('ZRANGEBYSCORE', alive, from, to, 'WITHSCORES', 'LIMIT', 0, most) end
local silent = redis.call('ZRANGEBYSCORE', alive, never, '(' .. text(now), 'LIMIT', 0, 100)
local by = {}
if #silent > 0 then
  local all = range('(-' .. never, '(0', 10000)
  for i = 1, #all, 2 do by[all[i]] = math.floor(-all[i + 1] / 3) + 2000 end
end
for _, member in ipairs(silent) do
  local who = string.sub(member, 3)
  if who ~= token then
    announce(text(-(now + (by['f:' .. who] or ARGV[5]))), 'x:' .. who)
    past[#past + 1] = member
    past[#past + 1] = 'm:' .. who
  end
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', alive, '(' .. text(-now), '(-' .. never, 'LIMIT', 0, 100)) do
  local gone = string.sub(member, 3)
  if gone ~= token then
    past[#past + 1] = member
    past[#past + 1] = 'f:' .. gone
    past[#past + 1] = 'h:' .. gone
  end
end
local added = redis.pcall(unpack(announced))
if not doneOrFull(added) then return added end
if type(added) ~= 'table' then redis.call(unpack(past)) end

local least = range(1, '(' .. never, 1)[2] or 0
local slowest = -(range('-' .. never, '(0', 1)[2] or 0)
local quiet = 0
local heard = range(text(first), '+inf', 2)
for i = #heard - 1, 1, -2 do
  if heard[i] ~= 'h:' .. token then quiet = math.max(1, now + first - heard[i + 1]) end
end
return { held and 1 or 0, tonumber(least), slowest == tonumber(never) and -1 or slowest, now, quiet }
