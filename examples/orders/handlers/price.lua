-- Prices an order. What it returns goes to every route whose `when` holds.
function price(order, ctx)
  if order.quantity < 1 then
    return dead("an order of " .. tostring(order.quantity) .. " items")
  end
  if order.item == "sold-out" then
    return drop("sold out before it was priced")
  end

  local coupon = order.coupon
  if coupon and not rates.known(coupon) then
    log.warn("unknown coupon ignored", { order = order.order, coupon = coupon })
    coupon = nil
  end

  local total = rates.total({
    quantity = order.quantity,
    unit_cents = order.unit_cents,
    coupon = coupon,
    express = order.express,
  })
  log.info("order priced", { order = order.order, total_cents = total, attempt = ctx.attempt })

  return {
    order = order.order,
    customer = order.customer,
    country = order.country,
    total_cents = total,
    express = order.express,
    coupon = coupon,
  }
end
