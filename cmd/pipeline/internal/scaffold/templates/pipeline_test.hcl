# What {{.Name}} promises. Every test has streams, a handler and a stopped clock of its own.

locals {
  ready  = { id = 1, customer = "c-1", state = "ready", quantity = 2 }
  draft  = { id = 2, customer = "c-2", state = "draft", quantity = 1 }
  locked = { id = 3, customer = "c-3", state = "locked", quantity = 5 }
}

test "an entry that is ready is priced" {
  step "it arrives" {
    publish {
      to    = stream.{{.Name}}
      entry = local.ready
    }
    assert {
      condition = subscription.{{.Name}}.outcomes == ["reply"]
    }
    assert {
      condition = stream.{{.Name}}_results.values[0].total_cents == 3800
    }
  }
}

test "a draft is left alone" {
  step "it arrives" {
    publish {
      to    = stream.{{.Name}}
      entry = local.draft
    }
    assert {
      condition = subscription.{{.Name}}.outcomes == ["ack"]
    }
    assert {
      condition = stream.{{.Name}}_results.values == []
      message   = "nothing is published for a draft"
    }
  }
}

test "an entry of a locked customer comes back" {
  step "it arrives" {
    publish {
      to    = stream.{{.Name}}
      entry = local.locked
    }
    assert {
      condition = subscription.{{.Name}}.outcomes == ["retry"]
    }
  }

  step "half a minute later" {
    advance = "30s"
    assert {
      condition = length(subscription.{{.Name}}.outcomes) > 1
      message   = "a retry must be tried again by itself"
    }
    assert {
      condition = length(stream.{{.Name}}.entries) == 1
      message   = "a retry must not append a copy"
    }
  }
}
