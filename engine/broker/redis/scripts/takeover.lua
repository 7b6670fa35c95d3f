-- Moves entries from one consumer to another, each only if it is pending under
-- the first, and counts a delivery. The body comes with it.
--
-- KEYS[1]   the stream
-- ARGV[1]   group, [2] new owner, [3] present owner, [4] first id, [5] last id, [6]… ids
-- Replies   ids and deliveries before this one, alternating, of what was pending under the first;
--           the entries [id, fields]. An id of the first list that is not in the second had no body
--           any more and is out of the pending list (a server before 7.0 leaves that to us).
local stream, group, consumer, from, count = KEYS[1], ARGV[1], ARGV[2], ARGV[3], #ARGV - 5

local page = redis.call('XPENDING', stream, group, ARGV[4], ARGV[5], count, from)
local full = #page == count
local deliveries = {}
for i = 1, #page do deliveries[page[i][1]] = page[i][4] end

local mine, counts, taken = {}, {}, {}
for i = 1, count do
  local id = ARGV[5 + i]
  local times = deliveries[id]
  if not times and full then
    local one = redis.call('XPENDING', stream, group, id, id, 1, from)
    times = one[1] and one[1][4]
  end
  if times and not taken[id] then
    taken[id] = true -- an id that comes twice is taken over once
    mine[#mine + 1] = id
    counts[#counts + 1] = id
    counts[#counts + 1] = times
  end
end
if #mine == 0 then return { {}, {} } end

local entries, kept = {}, {}
for _, entry in ipairs(redis.call('XCLAIM', stream, group, consumer, 0, unpack(mine))) do
  if entry and entry[2] then
    entries[#entries + 1] = entry
    kept[entry[1]] = true
  end
end
local gone = {}
for _, id in ipairs(mine) do
  if not kept[id] then gone[#gone + 1] = id end
end
if #gone > 0 then redis.call('XACK', stream, group, unpack(gone)) end
return { counts, entries }
