-- Removes consumers under which nothing is pending, behind which nobody lives, and which have not read for a while:
-- XGROUP DELCONSUMER drops what is pending, so what is checked and what is done are one step.
--
-- KEYS[1]   the stream; KEYS[2] who is alive in the group; KEYS[3…] the lease of each consumer's slot
-- ARGV[1]   group, [2] how long a consumer has not read or claimed at least (ms)
-- ARGV[3…]  name and token of each consumer; "" is the token of a name without a slot
-- Replies   for each consumer what became of it and a number;
--             0 it was removed
--             1 there is none of that name
--             2 it holds entries: how many
--             3 a process lives behind it
--             4 it has read or claimed since: how long ago (ms)
--            -1 and the server's error: it refuses to remove it, and no further one was tried
local function field(info, name)
  for i = 1, #info, 2 do
    if info[i] == name then return info[i + 1] end
  end
end

local found = {}
for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  found[field(info, 'name')] = { field(info, 'pending'), field(info, 'idle') }
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local alive = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], string.format('%.0f', now), '+inf')) do
  alive[member] = true
end

local function lives(lease, token)
  if token == '' then return false end
  if alive['u:' .. token] then return true end
  local value = redis.call('GET', lease)
  return value and string.sub(value, 1, #token + 1) == token .. ' '
end

local out = {}
for i = 3, #KEYS do
  local name, token = ARGV[2 * i - 3], ARGV[2 * i - 2]
  local seen = found[name]
  if not seen then
    out[#out + 1] = { 1, 0 }
  elseif seen[1] > 0 then
    out[#out + 1] = { 2, seen[1] }
  elseif lives(KEYS[i], token) then
    out[#out + 1] = { 3, 0 }
  elseif seen[2] < tonumber(ARGV[2]) then
    out[#out + 1] = { 4, seen[2] }
  else
    local done = redis.pcall('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name)
    if type(done) == 'table' and done.err then
      out[#out + 1] = { -1, done.err }
      return out
    end
    out[#out + 1] = { 0, 0 }
  end
end
return out
