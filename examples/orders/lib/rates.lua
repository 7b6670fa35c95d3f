-- What an order costs beyond its items, shared by handlers.
local rates = {}

local express_cents = 1490
local coupons = { WELCOME10 = 10, SUMMER25 = 25 }

-- The total in cents. A coupon takes off whole percents, rounded down, so that
-- no cent is lost between here and the ledger.
function rates.total(order)
  local total = order.quantity * order.unit_cents
  local percent = coupons[order.coupon or ""]
  if percent then
    total = total - math.floor(total * percent / 100)
  end
  if order.express then
    total = total + express_cents
  end
  return total
end

function rates.known(coupon)
  return coupons[coupon] ~= nil
end

return rates
