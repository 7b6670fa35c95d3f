-- Appends messages in order and stops at the first that the server refuses.
--
-- KEYS      destinations
-- ARGV[1]   number of messages
-- ARGV[2]…  per message: index of its destination in KEYS, number of arguments, the arguments of XADD after the key
-- Replies   error of the message after the last id, or an empty string; then the ids
local ids, at = { '' }, 2
for m = 1, tonumber(ARGV[1]) do
  local size = tonumber(ARGV[at + 1])
  local id = redis.pcall('XADD', KEYS[tonumber(ARGV[at])], unpack(ARGV, at + 2, at + 1 + size))
  if type(id) == 'table' then
    ids[1] = id.err
    break
  end
  ids[m + 1] = id
  at = at + 2 + size
end
return ids
