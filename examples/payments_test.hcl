# What examples/payments.hcl promises, on a clock that stands still: pipeline test examples/payments.hcl

locals {
  paid   = { id = 1, account = "acct-7", amount_cents = 12500 }
  locked = { id = 2, account = "migrating-9", amount_cents = 4200 }
}

test "a payment is posted and screened, once in each group" {
  step "it arrives" {
    publish {
      to    = stream.payments
      entry = local.paid
    }
    assert {
      condition = subscription.post_payment.outcomes == ["ack"]
    }
    assert {
      condition = subscription.screen_payment.outcomes == ["reply"]
    }
    assert {
      condition = stream.payments_screened.values == [{ payment_id = 1, suspicious = false }]
    }
    assert {
      condition = length(group.ledger.pending) == 0 && length(group.fraud.pending) == 0
    }
    assert {
      condition = subscription.post_payment.calls[0].logs[0].message == "payment posted"
    }
  }

  step "nothing comes again" {
    advance = "1h"
    assert {
      condition = length(subscription.post_payment.calls) == 1 && length(subscription.screen_payment.calls) == 1
    }
  }
}

test "a payment for a migrating account waits in the pending list" {
  step "it arrives" {
    publish {
      to    = stream.payments
      entry = local.locked
    }
    assert {
      condition = subscription.post_payment.outcomes == ["retry"]
    }
    assert {
      condition = group.ledger.pending[*].deliveries == [1]
    }
  }

  step "before min_idle nothing happens" {
    advance = "29s"
    assert {
      condition = group.ledger.pending[*].idle == ["29s"]
    }
    assert {
      condition = length(subscription.post_payment.calls) == 1
    }
  }

  step "min_idle later the same entry comes back" {
    advance = "1s"
    assert {
      condition = subscription.post_payment.calls[*].deliveries == [0, 1]
    }
    assert {
      condition = subscription.post_payment.calls[0].id == subscription.post_payment.calls[1].id
    }
    assert {
      condition = length(stream.payments.entries) == 1
      message   = "a retry must not append a copy"
    }
    assert {
      condition = length(stream.payments_dead.entries) == 0
      message   = "a retry that is asked for is no failure"
    }
  }

  step "and once more" {
    advance = "30s"
    assert {
      condition = subscription.post_payment.calls[*].deliveries == [0, 1, 2]
    }
  }
}

test "another worker takes over after a crash" {
  step "the worker dies between posting and acknowledging" {
    fault "crash" {
      in = subscription.post_payment
      at = "before_ack"
    }
    publish {
      to    = stream.payments
      entry = local.paid
    }
    assert {
      condition = subscription.post_payment.outcomes == ["crashed"]
    }
    assert {
      condition = group.ledger.pending[*].deliveries == [1]
    }
  }

  step "min_idle passes" {
    advance = "30s"
    assert {
      condition = group.ledger.pending == []
    }
    assert {
      condition = subscription.post_payment.calls[*].deliveries == [0, 1]
    }
    assert {
      condition = subscription.post_payment.calls[0].consumer != subscription.post_payment.calls[1].consumer
      message   = "a process that starts again is another consumer"
    }
  }
}

test "neither group slows or stops the other" {
  mock "post_payment" {
    error = "the ledger cannot be reached"
  }

  step "one group fails" {
    publish {
      to      = stream.payments
      entries = [local.paid, local.locked]
    }
    assert {
      condition = subscription.post_payment.outcomes == ["failed", "failed"]
    }
    assert {
      condition = stream.payments_screened.values[*].payment_id == [1, 2]
    }
    assert {
      condition = length(group.ledger.pending) == 2 && group.fraud.pending == []
    }
  }
}

test "the group that joined late screens what was there before it" {
  existing {
    in      = stream.payments
    entries = [local.paid, local.locked]
  }

  step "the service starts" {
    assert {
      condition = stream.payments_screened.values[*].payment_id == [1, 2]
    }
    assert {
      condition = subscription.post_payment.calls == []
      message   = "the ledger begins with new payments"
    }
  }
}

test "payments of one account are posted in order" {
  step "three accounts take turns" {
    publish {
      to      = stream.payments
      entries = [for n in range(12) : { id = n, account = "acct-${n % 3}", amount_cents = 100 }]
    }
    assert {
      condition = [for c in subscription.post_payment.calls : c.entry.id if c.key == "acct-1"] == [1, 4, 7, 10]
    }
    assert {
      condition = length(distinct(subscription.post_payment.calls[*].entry.id)) == 12
    }
  }
}

test "amounts over one million cents are suspicious" {
  for_each = {
    "at the limit"   = { amount = 1000000, suspicious = false }
    "over the limit" = { amount = 1000001, suspicious = true }
  }

  step "screened" {
    publish {
      to    = stream.payments
      entry = { id = 1, account = "acct-7", amount_cents = each.value.amount }
    }
    assert {
      condition = stream.payments_screened.values[0].suspicious == each.value.suspicious
    }
  }
}

test "a large id keeps every digit" {
  step "screened" {
    publish {
      to    = stream.payments
      entry = { id = 18446744073709551615, account = "acct-7", amount_cents = 1 }
    }
    assert {
      condition = stream.payments_screened.values[0].payment_id == 18446744073709551615
    }
  }
}

test "a reply whose answer is lost is published once" {
  step "the server answers into the void" {
    fault "lost_reply" {
      in = subscription.screen_payment
    }
    publish {
      to    = stream.payments
      entry = local.paid
    }
    advance = "5m"
    assert {
      condition = length(stream.payments_screened.entries) == 1
    }
    assert {
      condition = group.fraud.pending == []
    }
  }
}

test "a claiming read refuses to start on an older server" {
  server = "8.2.0"

  expect_error {
    code     = "claiming_read_unsupported"
    mentions = ["post_payment", "8.4.0", "8.2.0"]
  }
}

test "before 8.4 a pair of subscriptions does the same" {
  server = "8.2.0"

  variables {
    before_8_4 = true
  }

  step "the reader of new entries dies" {
    fault "crash" {
      in = subscription.post_new_payment
      at = "before_ack"
    }
    publish {
      to    = stream.payments
      entry = local.paid
    }
    assert {
      condition = group.ledger.pending[*].deliveries == [1]
    }
    assert {
      condition = subscription.post_payment.calls == []
      message   = "it is disabled"
    }
  }

  step "the other one takes over after min_idle" {
    advance = "1m"
    assert {
      condition = subscription.recover_payment.outcomes == ["ack"]
    }
    assert {
      condition = group.ledger.pending == []
    }
  }
}

test "what is no payment becomes a dead letter, and the rest goes on" {
  for_each = {
    "no JSON"        = { _payload = "{ no JSON" }
    "no amount"      = { _payload = jsonencode({ id = 3, account = "acct-7" }) }
    "no such field"  = { note = "lunch" }
    "bytes"          = { _payload = { base64 = "AP+A" } }
    "a quoted id"    = { _payload = jsonencode({ id = "3", account = "acct-7", amount_cents = 1 }) }
    "not an object"  = { _payload = "[]" }
    "an empty field" = { _payload = "" }
  }

  step "one is broken, one is not" {
    publish {
      to  = stream.payments
      raw = each.value
    }
    publish {
      to    = stream.payments
      entry = local.paid
    }
    assert {
      condition = contains(subscription.post_payment.outcomes, "invalid") && contains(subscription.post_payment.outcomes, "ack")
    }
    assert {
      condition = length(stream.payments_dead.entries) == 2
      message   = "each of the two groups gives it up"
    }
    assert {
      condition = !contains(subscription.post_payment.calls[*].outcome, "failed")
      message   = "no handler is given what cannot be decoded"
    }
    assert {
      condition = length(group.ledger.pending) == 0
    }
  }
}

test "a payment that always fails ends as a dead letter" {
  mock "post_payment" {
    error = "no such account"
  }

  step "five attempts, further and further apart" {
    publish {
      to    = stream.payments
      entry = local.paid
    }
    advance = "1h"
    assert {
      condition = subscription.post_payment.outcomes == ["failed", "failed", "failed", "failed", "failed"]
    }
    assert {
      condition = subscription.post_payment.calls[*].attempt == [1, 2, 3, 4, 5]
    }
    assert {
      condition = stream.payments_dead.entries[0].dead_letter.reason == "failed"
    }
    assert {
      condition = stream.payments_dead.entries[0].dead_letter.attempts == 5 && stream.payments_dead.values[0] == local.paid
    }
    assert {
      condition = length(regex("no such account", stream.payments_dead.entries[0].dead_letter.error)) > 0
    }
    assert {
      condition = group.ledger.pending == []
    }
  }
}

test "a ledger that comes back is served again" {
  mock "post_payment" {
    error = "the ledger cannot be reached"
    times = 2
  }

  step "twice it fails, then it does not" {
    publish {
      to    = stream.payments
      entry = local.paid
    }
    advance = "5m"
    assert {
      condition = subscription.post_payment.outcomes == ["failed", "failed", "ack"]
    }
    assert {
      condition = subscription.post_payment.calls[*].deliveries == [0, 1, 2]
    }
  }
}

test "an outage of the server loses nothing" {
  step "it goes away while payments arrive" {
    fault "server_down" {
      for = "20s"
    }
    publish {
      to      = stream.payments
      entries = [local.paid, local.locked]
    }
    assert {
      condition = subscription.post_payment.calls == []
    }
  }

  step "it comes back" {
    advance = "2m"
    assert {
      condition = subscription.post_payment.calls[0].outcome == "ack" && length(stream.payments_screened.entries) == 2
    }
  }
}
