-- Resets the idle time of entries that are pending under the consumer, without
-- counting a delivery.
--
-- KEYS[1]   the stream
-- ARGV[1]   group, [2] consumer, [3] the same, [4] first id, [5] last id, [6]… ids
-- Replies   one letter an id: h held, o pending under another or not at all,
--           g its body is gone and XCLAIM took it out of the pending list
local stream, group, consumer, count = KEYS[1], ARGV[1], ARGV[2], #ARGV - 5

local page = redis.call('XPENDING', stream, group, ARGV[4], ARGV[5], count, ARGV[3])
local full = #page == count
local owned = {}
for i = 1, #page do owned[page[i][1]] = true end

local mine, answers = {}, {}
for i = 1, count do
  local id = ARGV[5 + i]
  if owned[id] or full and #redis.call('XPENDING', stream, group, id, id, 1, ARGV[3]) == 1 then
    mine[#mine + 1] = id
    answers[i] = 'g'
  else
    answers[i] = 'o'
  end
end
if #mine == 0 then return table.concat(answers) end

mine[#mine + 1] = 'JUSTID'
local kept = {}
for _, id in ipairs(redis.call('XCLAIM', stream, group, consumer, 0, unpack(mine))) do kept[id] = true end
for i = 1, count do
  if kept[ARGV[5 + i]] then answers[i] = 'h' end
end
return table.concat(answers)
