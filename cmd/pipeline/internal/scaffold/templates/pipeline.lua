-- Prices one entry of the stream {{.Name}}.
--
-- Return a value to publish it, ack() when there is nothing to do, retry() when it cannot be done now, dead("why")
-- when it never can. error("why") is a failed attempt, tried again as the retry block says.
local unit_cents = 1900

function handle(entry, ctx)
  if entry.quantity < 1 then
    return dead("a quantity of " .. tostring(entry.quantity))
  end
  if entry.state == "draft" then
    return ack()
  end
  if entry.state == "locked" then
    return retry{ after = "5s", reason = "the customer's account is locked" }
  end
  return { id = entry.id, total_cents = entry.quantity * unit_cents }
end
