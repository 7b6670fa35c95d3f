-- Takes over pending entries that have been idle long enough, whoever holds them, and counts a delivery. The body
-- comes with it. What has no body any more goes out of the pending list.
--
-- KEYS[1]   the stream
-- ARGV[1]   group, [2] new owner, [3] min_idle (ms), [4] 1: take nothing over, only drop what has no body; [5]… ids
-- Replies   ids and deliveries before this one, alternating, of what was taken over or dropped;
--           the entries [id, fields]. An id of the first list that is not in the second had no body.
--
-- XAUTOCLAIM would drop what has no body however short it has been idle: also what a living worker runs and renews.
-- And it looks for the body of each entry that it passes, which makes it several times slower than XPENDING.
local stream, group, consumer, idle, only = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'

local mine, times = {}, {}
for i = 5, #ARGV do
  local id = ARGV[i]
  local one = redis.call('XPENDING', stream, group, id, id, 1)[1]
  if one and one[3] >= idle and not (only and #redis.call('XRANGE', stream, id, id) == 1) then
    mine[#mine + 1] = id
    times[id] = one[4]
  end
end
if #mine == 0 then return { {}, {} } end

local entries, kept = {}, {}
if not only then
  for _, entry in ipairs(redis.call('XCLAIM', stream, group, consumer, 0, unpack(mine))) do
    if entry and entry[2] then
      entries[#entries + 1] = entry
      kept[entry[1]] = true
    end
  end
end
local counts, gone = {}, {}
for _, id in ipairs(mine) do
  counts[#counts + 1] = id
  counts[#counts + 1] = times[id]
  if not kept[id] then gone[#gone + 1] = id end
end
if #gone > 0 then redis.call('XACK', stream, group, unpack(gone)) end
return { counts, entries }
