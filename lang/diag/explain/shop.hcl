pipeline "shop" {
  version = "1.0.0"
}

broker "redis" {
  url = "redis://localhost:6379"
}

stream "orders" {
  entry = object({
    id      = number
    account = string
    amount  = number
    paid    = bool
  })
}

stream "receipts" {
}

stream "dead" {
  retention {
    max_age = "30d"
  }
}

handler "bill" {
  source = "bill.lua"
}

group "billing" {
  stream = stream.orders

  dead_letter {
    to = stream.dead
  }

  subscription "bill" {
    handler = handler.bill

    claim {
      min_idle = "1m"
    }

    reply {
      to = stream.receipts
    }
  }
}
