-- Takes the first free lease of several, or finds the one that the token holds
-- already, whose time then starts again: the call may be repeated.
--
-- KEYS      leases, lowest slot first
-- ARGV[1]   token, [2] min_idle (ms), [3] time to live (ms)
-- Replies   the index of the lease from 0, or -1 if all are taken
local prefix = ARGV[1] .. ' '
local free
for i = 1, #KEYS do
  local value = redis.call('GET', KEYS[i])
  if not value then
    free = free or i
  elseif string.sub(value, 1, #prefix) == prefix then
    redis.call('PEXPIRE', KEYS[i], ARGV[3])
    return i - 1
  end
end
if not free then return -1 end
redis.call('SET', KEYS[free], prefix .. ARGV[2], 'PX', ARGV[3])
return free - 1
