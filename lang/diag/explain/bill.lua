function handle(order)
  return { order = order.id, total = order.amount }
end
