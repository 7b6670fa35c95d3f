pipeline "shop" {
}

variable "min_idle" {
  type    = string
  default = "30s"
}

variable "workers" {
  type    = number
  default = 4
}

variable "old" {
  type    = bool
  default = false
}

variable "secret" {
  type      = string
  default   = "hunter2hunter2"
  sensitive = true
}

broker "redis" {
  url = "redis://:${var.secret}@localhost:6379"
}

stream "orders" {
  entry = object({
    id      = number
    account = string
    note    = optional(string)
  })

  retention {
    max_age = "1d"
    protect = "unacknowledged"
  }
}

stream "receipts" {
  entry = object({
    order = number
    ok    = bool
  })
}

stream "dead" {
  retention {
    max_age = "30d"
  }
}

handler "bill" {
  source = "h.lua"
}

handler "audit" {
  source = "h.lua"
}

group "billing" {
  stream = stream.orders

  dead_letter {
    to = stream.dead
  }

  subscription "bill_order" {
    handler = handler.bill

    claim {
      min_idle = var.min_idle
    }

    workers {
      count = var.workers
      key   = entry.account
    }

    reply {
      to = stream.receipts
    }
  }
}

group "auditing" {
  stream = stream.orders

  dead_letter {
    to = stream.dead
  }

  subscription "audit_order" {
    handler = handler.audit
    enabled = !var.old

    claim {
      min_idle = var.min_idle
    }
  }

  subscription "old_order" {
    handler = handler.audit
    enabled = var.old

    claim {
      min_idle = var.min_idle
    }
  }
}
