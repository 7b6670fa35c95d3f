-- Records that entries are about to run, from their third delivery on, each only
-- if it is pending under the consumer, and renews them. A start is recorded once
-- for each delivery, so that the call may be repeated.
--
-- KEYS[1]   the stream; KEYS[2] the group's records
-- ARGV[1]   group, [2] consumer, [3]… ids
-- Replies   one letter an id: h held, o pending under another or not at all,
--           g its body is gone and XCLAIM took it out of the pending list
--
-- For the form of a record see wait.lua. XCLAIM comes before HSET: a full server accepts HSET only after a first
-- write.
local stream, records, group, consumer = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

local function begin(id)
  local one = redis.call('XPENDING', stream, group, id, id, 1, consumer)[1]
  if not one then return 'o' end
  if not redis.call('XCLAIM', stream, group, consumer, 0, id, 'JUSTID')[1] then return 'g' end
  if one[4] < 3 then return 'h' end
  local old = redis.call('HGET', records, id) or '0 0 0 0 0  '
  local starts, numbers, length, rest = string.match(old, '^(%d+) (%d+ %d+ %d+) (%d+) (.*)$')
  local who, reason = string.sub(rest, 1, length), string.sub(rest, length + 2)
  local by, state, delivery, first = string.match(who, '^(.*)\31(%l)(%d+) (%d+)$')
  if state == 's' and tonumber(delivery) == one[4] then return 'h' end
  who = (by or who) .. string.format('\31s%.0f %s', one[4], first or '0')
  redis.call('HSET', records, id, string.format('%.0f %s %d ', starts + 1, numbers, #who) .. who .. ' ' .. reason)
  return 'h'
end

local answers = {}
for i = 3, #ARGV do answers[i - 2] = begin(ARGV[i]) end
return table.concat(answers)
