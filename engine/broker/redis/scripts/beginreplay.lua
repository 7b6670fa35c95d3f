-- Takes the name of a group for a replay, unless it is somebody's. The group itself is created afterwards.
--
-- KEYS[1]   the stream; KEYS[2] the group's floor; KEYS[3] the note of the replay
-- ARGV[1]   group, [2] what is replayed, [3] 1: only look
-- Replies   0 it is free, and taken unless only looked at
--           1 it is taken for this replay, which goes on
--           2 this replay has ended
--           3 another replay has it, and what that is
--           4 a group of the name exists, or existed, that is no replay
local function field(info, name)
  for i = 1, #info, 2 do
    if info[i] == name then return info[i + 1] end
  end
end
local note = redis.call('GET', KEYS[3])
if note == ARGV[2] then return { 1, '' } end
if note == ARGV[2] .. ' done' then return { 2, '' } end
if note then return { 3, note } end
if redis.call('GET', KEYS[2]) then return { 4, '' } end
if redis.call('TYPE', KEYS[1]).ok == 'stream' then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if field(info, 'name') == ARGV[1] then return { 4, '' } end
  end
end
if ARGV[3] ~= '1' then redis.call('SET', KEYS[3], ARGV[2]) end
return { 0, '' }
