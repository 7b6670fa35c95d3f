locals {
  order = { id = 1, account = "a" }
  calm  = "30s"
}

test "an order is billed" {
  server = "8.4.0"

  variables {
    workers = 1
  }

  existing {
    in      = stream.orders
    entries = [local.order]
  }

  mock "bill" {
    error = "no ledger"
    times = 1
  }

  step "it arrives" {
    fault "crash" {
      in = subscription.bill_order
      at = "before_ack"
    }

    publish {
      to      = stream.orders
      entry   = local.order
      key     = "k"
      headers = { trace = "t-1" }
    }

    advance = local.calm

    assert {
      condition = subscription.bill_order.outcomes == ["ack"]
      message   = "it is billed"
    }

    assert {
      condition = group.billing.pending[*].idle == ["30s"]
    }
  }
}

test "cases" {
  for_each = { small = 1, large = 2 }

  step "one" {
    publish {
      to    = stream.orders
      entry = { id = each.value, account = each.key }
    }

    advance = local.calm

    assert {
      condition = stream.receipts.values[0].order == each.value
    }
  }
}

test "it refuses" {
  server = "6.0.0"

  expect_error {
    code     = "claiming_read_unsupported"
    mentions = ["bill_order"]
  }
}
