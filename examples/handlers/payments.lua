-- handlers/payments.lua
function post_payment(payment, ctx)
  if payment.account:sub(1, 10) == "migrating-" then
    log.warn("account locked, payment left pending", { payment = payment.id, deliveries = ctx.deliveries })
    return retry()
  end
  log.info("payment posted", { payment = payment.id, deliveries = ctx.deliveries })
  return ack()
end

function screen_payment(payment)
  return { payment_id = payment.id, suspicious = payment.amount_cents > 1000000 }
end
