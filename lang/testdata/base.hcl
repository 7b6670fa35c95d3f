pipeline "shop" {
  version       = "1.0.0"
  drain_timeout = "20s"
}

variable "url" {
  type    = string
  default = "redis://localhost:6379"
}

variable "min_idle" {
  type    = string
  default = "40s"
}

variable "many" {
  type    = number
  default = 8
}

locals {
  prefix = "shop"
  tags   = ["a", "b"]
}

broker "redis" {
  url = var.url
}

stream "orders" {
  name  = "${local.prefix}.orders"
  codec = "json"

  entry = object({
    id      = number
    account = string
    paid    = bool
    amount  = number
    note    = optional(string)
    items   = list(object({ sku = string, count = number }))
    labels  = map(string)
  })

  retention {
    max_length = 100000
    max_age    = "14d"
    protect    = "unacknowledged"
  }
}

stream "receipts" {
  entry = object({
    order = number
    total = number
    vip   = bool
  })
}

stream "large" {
  max_backlog = var.many + length(local.tags)
}
stream "dead" {
  name = "shop.dead"
  retention { max_age = "30d" }
}
handler "receipt" {
  source   = "h.lua"
  function = "receipt"

  limits {
    timeout = "5s"
    memory  = "16MiB"
  }

  grant "log" {}
}

retry "calm" {
  max_attempts = 5
  delay        = "1s"
  multiplier   = 4
  max_delay    = "5m"
  jitter       = 0.2
}

group "billing" {
  stream = stream.orders
  start  = "new"

  dead_letter {
    to = stream.dead
  }

  subscription "bill" {
    handler = handler.receipt
    retry   = retry.calm
    batch   = 50
    block   = "1s"

    claim {
      min_idle = var.min_idle
      using    = "auto"
    }

    workers {
      count = 4
      key   = entry.account
    }

    route "all" {
      to  = stream.receipts
      key = entry.account
    }

    route "big" {
      to   = stream.large
      when = reply.total > 1000
    }

    idempotency {
      key    = entry.id
      window = "30d"
    }
  }
}
