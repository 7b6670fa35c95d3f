-- Removes the group of a replay with the keys beside it, if nothing is pending in it and nothing is left to read up to
-- the end of the replay, and notes that it has ended.
--
-- KEYS[1]   the stream; KEYS[2] the note of the replay; KEYS[3] the floor; KEYS[4] the records; KEYS[5] who is alive
-- ARGV[1]   group, [2] what is replayed, [3] the last id
-- Replies   0 it has ended; 1 entries are pending or left; 2 it is no group of this replay; -1 and the server's error
local function field(info, name)
  for i = 1, #info, 2 do
    if info[i] == name then return info[i + 1] end
  end
end
local note = redis.call('GET', KEYS[2])
local ended = note == ARGV[2] .. ' done'
if not ended and note ~= ARGV[2] then return { 2, '' } end
local at
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  if field(info, 'name') == ARGV[1] then at = field(info, 'last-delivered-id') end
end
if not at then return { ended and 0 or 1, '' } end
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1) > 0 then return { 1, '' } end
if not ended and at ~= '18446744073709551615-18446744073709551615' and #redis.call('XRANGE', KEYS[1], '(' .. at, ARGV[3], 'COUNT', 1) > 0 then
  return { 1, '' }
end
-- The note comes first: a group that is gone without it would be created again, at its beginning.
redis.call('SET', KEYS[2], ARGV[2] .. ' done')
local done = redis.pcall('XGROUP', 'DESTROY', KEYS[1], ARGV[1])
if type(done) == 'table' and done.err then
  if not ended then redis.call('SET', KEYS[2], ARGV[2]) end
  return { -1, done.err }
end
redis.call('DEL', KEYS[3], KEYS[4], KEYS[5])
return { 0, '' }
