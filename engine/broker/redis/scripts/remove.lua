-- Removes a consumer if nothing is pending under it.
--
-- KEYS[1]   the stream
-- ARGV[1]   group, [2] consumer
-- Replies   1 if it is gone, 0 if it holds entries; the server's error if it refuses to remove it
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
local done = redis.pcall('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return type(done) == 'table' and done.err or 1
