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
--           the largest min_idle by which anyone alive renews, -1 if somebody does not renew; the time (ms)
--
-- Who is alive is one sorted set with three members for each token, told apart by the range of their scores:
-- u:token  until when it counts as alive (ms of the server's clock: above 1e12)
-- m:token  its min_idle                  (1 to below 1e12)
-- f:token  what it renews by, negative   (-1e12, "never", to below 0)
-- So each question is one range, however many are alive. PEXPIRE comes before ZADD: a full server accepts
-- ZADD only after a first write, and a slot must not be lost for that. Where it does not even take the lease
-- back, nobody else can take it either. Whatever else is refused, a right that is missing above all, is an error.
local slot, alive, token = KEYS[1], KEYS[2], ARGV[1]
local never = '1000000000000'

local function doneOrFull(reply) return type(reply) ~= 'table' or not reply.err or string.find(reply.err, 'OOM', 1, true) end

local prefix = token .. ' '
local value = redis.call('GET', slot)
local held = value and string.sub(value, 1, #prefix) == prefix
local function leave(gone) redis.call('ZREM', alive, 'u:' .. gone, 'm:' .. gone, 'f:' .. gone) end

if ARGV[2] == '0' then
  if held then redis.call('DEL', slot) end
  leave(token)
  return { held and 1 or 0, 0, 0, 0 }
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
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', alive, never, '(' .. string.format('%.0f', now), 'LIMIT', 0, 100)) do
  leave(string.sub(gone, 3))
end
local follows = ARGV[4] == '0' and never or ARGV[4]
local announced = { 'ZADD', alive, string.format('%.0f', now + ARGV[5]), 'u:' .. token, '-' .. follows, 'f:' .. token }
if ARGV[3] == '0' then
  redis.call('ZREM', alive, 'm:' .. token)
else
  announced[#announced + 1] = ARGV[3]
  announced[#announced + 1] = 'm:' .. token
end
local added = redis.pcall(unpack(announced))
if not doneOrFull(added) then return added end

local least = redis.call('ZRANGEBYSCORE', alive, 1, '(' .. never, 'WITHSCORES', 'LIMIT', 0, 1)[2] or 0
local slowest = redis.call('ZRANGEBYSCORE', alive, '-inf', '(0', 'WITHSCORES', 'LIMIT', 0, 1)[2] or 0
slowest = -slowest
return { held and 1 or 0, tonumber(least), slowest == tonumber(never) and -1 or slowest, now }
