-- Adds messages for entries that stand on another server, and marks each as added: what has a mark is not added
-- again. It stops at the first message that the server refuses.
--
-- KEYS[1]   the destination; KEYS[2]… the mark of each message
-- ARGV[1]   how long a mark lasts, in milliseconds
-- ARGV[2]…  per message: number of arguments, the arguments of XADD after the key
-- Replies   error of the message after the last one that was done, or an empty string; then the ids of the messages
--
-- The mark comes first: a login that may not write it, or a full server, is refused before anything was added.
local reply, at = { '' }, 2
for m = 2, #KEYS do
  local size = tonumber(ARGV[at])
  local id = redis.call('GET', KEYS[m])
  if not id then
    local marked = redis.pcall('SET', KEYS[m], '-', 'PX', ARGV[1])
    if marked.err then
      reply[1] = marked.err
      break
    end
    id = redis.pcall('XADD', KEYS[1], unpack(ARGV, at + 1, at + size))
    if type(id) == 'table' then
      redis.call('DEL', KEYS[m])
      reply[1] = id.err
      break
    end
    redis.call('SET', KEYS[m], id, 'PX', ARGV[1])
  end
  reply[m] = id
  at = at + 1 + size
end
return reply
