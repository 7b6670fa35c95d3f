# What examples/orders promises: every order is priced once and goes to whoever has to act.

locals {
  lamp  = { order = 1, customer = "c-1", country = "SE", item = "lamp", quantity = 1, unit_cents = 4900 }
  shelf = { order = 2, customer = "c-3", country = "NO", item = "shelf", quantity = 1, unit_cents = 7900 }
  desks = { order = 3, customer = "c-4", country = "SE", item = "desk", quantity = 20, unit_cents = 34900 }
}

test "an order is priced once and goes where it has to" {
  for_each = {
    "to the warehouse"           = { order = local.lamp, total = 4900, customs = 0, review = 0 }
    "abroad, to customs as well" = { order = local.shelf, total = 7900, customs = 1, review = 0 }
    "large, to a person as well" = { order = local.desks, total = 698000, customs = 0, review = 1 }
  }

  step "it arrives" {
    publish {
      to    = stream.orders
      entry = each.value.order
    }
    assert {
      condition = subscription.price.outcomes == ["reply"]
    }
    assert {
      condition = stream.priced.values[*].total_cents == [each.value.total]
    }
    assert {
      condition = length(stream.customs.entries) == each.value.customs
    }
    assert {
      condition = length(stream.review.entries) == each.value.review
    }
    assert {
      condition = group.pricing.pending == []
    }
  }
}

test "parcels of a customer stay in order, express or not" {
  step "two orders arrive" {
    publish {
      to      = stream.orders
      entries = [local.lamp, merge(local.lamp, { order = 4, express = true })]
    }
    assert {
      condition = stream.priced.entries[*].key == ["c-1", "c-1"]
    }
    assert {
      condition = stream.priced.values[*].order == [1, 4]
    }
    assert {
      condition = stream.priced.entries[*].headers.lane == ["standard", "express"]
    }
    assert {
      condition = stream.priced.values[*].total_cents == [4900, 6390]
      message   = "express costs 14.90"
    }
  }
}

test "customs papers are kept by country and customer" {
  step "it arrives" {
    publish {
      to    = stream.orders
      entry = local.shelf
    }
    assert {
      condition = stream.customs.entries[*].key == ["NO-c-3"]
    }
  }
}

test "a parcel within the country needs no customs, wherever that is" {
  variables {
    home = "NO"
  }

  step "it arrives" {
    publish {
      to    = stream.orders
      entry = local.shelf
    }
    assert {
      condition = stream.customs.entries == [] && length(stream.priced.entries) == 1
    }
  }
}

test "home is a country code" {
  variables {
    home = "Sweden"
  }

  expect_error {
    code     = "validation_failed"
    mentions = ["home is a country code"]
  }
}

test "a coupon is taken off, and looked at by a person on a first order" {
  for_each = {
    "known, first order"   = { coupon = "WELCOME10", first = "yes", total = 4410, review = 1 }
    "known, later order"   = { coupon = "WELCOME10", first = "no", total = 4410, review = 0 }
    "unknown, first order" = { coupon = "NONE", first = "yes", total = 4900, review = 1 }
  }

  step "it arrives" {
    publish {
      to      = stream.orders
      entry   = merge(local.lamp, { coupon = each.value.coupon })
      headers = { first-order = each.value.first }
    }
    assert {
      condition = stream.priced.values[0].total_cents == each.value.total
    }
    assert {
      condition = length(stream.review.entries) == each.value.review
    }
    assert {
      condition = contains(subscription.price.calls[0].logs[*].level, "warn") == (each.value.coupon == "NONE")
      message   = "a coupon that is ignored is told of"
    }
  }
}

test "an order of nothing can never be priced" {
  step "it arrives" {
    publish {
      to    = stream.orders
      entry = merge(local.lamp, { quantity = 0 })
    }
    assert {
      condition = subscription.price.outcomes == ["dead"]
    }
    assert {
      condition = stream.orders_dead.entries[*].dead_letter.error == ["an order of 0 items"]
    }
    assert {
      condition = group.pricing.pending == [] && stream.priced.entries == []
    }
  }
}

test "what is sold out is dropped" {
  step "it arrives" {
    publish {
      to    = stream.orders
      entry = merge(local.lamp, { item = "sold-out" })
    }
    assert {
      condition = subscription.price.outcomes == ["drop"]
    }
    assert {
      condition = subscription.price.calls[0].reason == "sold out before it was priced"
    }
    assert {
      condition = group.pricing.pending == [] && stream.priced.entries == [] && stream.orders_dead.entries == []
    }
  }
}

test "what is no order is set aside" {
  for_each = {
    "no quantity"         = { order = "1", customer = "c-1", country = "SE", item = "lamp", unit_cents = "4900" }
    "a quantity in words" = { order = "1", customer = "c-1", country = "SE", item = "lamp", quantity = "two", unit_cents = "4900" }
  }

  step "it arrives" {
    publish {
      to  = stream.orders
      raw = each.value
    }
    assert {
      condition = subscription.price.outcomes == ["invalid"]
    }
    assert {
      condition = stream.orders_dead.entries[*].dead_letter.reason == ["invalid"]
    }
  }
}

test "pricing that fails is tried four times, then set aside" {
  mock "price" {
    error = "no rates"
  }

  step "half a second, one, two" {
    publish {
      to    = stream.orders
      entry = local.lamp
    }
    advance = "10s"
    assert {
      condition = subscription.price.outcomes == ["failed", "failed", "failed", "failed"]
    }
    assert {
      condition = subscription.price.calls[*].at == ["0s", "500ms", "1s500ms", "3s500ms"]
    }
    assert {
      condition = group.pricing.dead_letters[*].dead_letter.attempts == [4]
    }
  }
}

test "a worker that dies has priced nothing twice" {
  for_each = ["before_run", "after_run", "before_ack", "after_ack"]

  step "it dies" {
    fault "crash" {
      in = subscription.price
      at = each.value
    }
    publish {
      to    = stream.orders
      entry = local.lamp
    }
  }

  step "another one takes over" {
    advance = "1m"
    assert {
      condition = length(stream.priced.entries) == 1
      message   = "a reply must not be published twice"
    }
    assert {
      condition = group.pricing.pending == []
    }
  }
}
