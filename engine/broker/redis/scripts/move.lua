-- Adds a message for each entry of a stream and deletes the entry, only if it is there. It stops at the first
-- message that the server refuses.
--
-- KEYS[1]   the stream of the entries; KEYS[2]… destinations
-- ARGV[1]   number of entries
-- ARGV[2]…  per entry: its id, index of the destination in KEYS, number of arguments, the arguments of XADD after
--           the key
-- Replies   error of the message after the last one that was done, or an empty string; then for each entry that was
--           done the id of its message, or an empty string for one that was not there
--
-- XADD comes before XDEL: a full server refuses it while nothing has been written for its entry.
local from = KEYS[1]
local reply, at = { '' }, 2
for m = 1, tonumber(ARGV[1]) do
  local size = tonumber(ARGV[at + 2])
  local id = ''
  if #redis.call('XRANGE', from, ARGV[at], ARGV[at]) == 1 then
    id = redis.pcall('XADD', KEYS[tonumber(ARGV[at + 1])], unpack(ARGV, at + 3, at + 2 + size))
    if type(id) == 'table' then
      reply[1] = id.err
      break
    end
    redis.call('XDEL', from, ARGV[at])
  end
  reply[m + 1] = id
  at = at + 3 + size
end
return reply
