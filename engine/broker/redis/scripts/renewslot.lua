-- Extends a lease, or gives it up, if the token still holds it.
--
-- KEYS[1]   the lease
-- ARGV[1]   token, [2] time to live (ms), 0 to give it up
-- Replies   1 if the token held it, 0 if not
local prefix = ARGV[1] .. ' '
local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, #prefix) ~= prefix then return 0 end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
