-- Acknowledges an entry, as the last command of the transaction that added its messages, unless all of them were
-- refused: XADDs of a transaction may fail, and what comes behind them is done all the same.
--
-- KEYS[1]   the stream; KEYS[2] the group's records; KEYS[3]… destinations
-- ARGV[1]   group, [2] id, [3] 1 to drop its record
-- Replies   1 if it was acknowledged, 0 if nothing was added for it
--
-- A stream to which an entry was just added refuses the id 0-1 as too small, and nothing else says so: a key of
-- another type, or a stream whose last id is the highest there is, refuses it for that.
local added = false
for i = 3, #KEYS do
  local said = redis.pcall('XADD', KEYS[i], 'NOMKSTREAM', '0-1', '', '')
  if type(said) == 'table' and said.err and string.find(said.err, 'equal or smaller') then added = true end
end
if not added then return 0 end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] == '1' then redis.call('HDEL', KEYS[2], ARGV[2]) end
return 1
