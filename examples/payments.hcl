pipeline "payments" {
  version       = "0.1.0"
  language      = 1
  drain_timeout = "20s"
}

variable "redis_url" {
  type        = string
  default     = env("REDIS_URL", "redis://localhost:6379")
  description = "Server that holds the streams."
  sensitive   = true
}

variable "before_8_4" {
  type        = bool
  default     = false
  description = "Recover through a second subscription; claiming reads need Redis 8.4."
}

# An entry idle this long belongs to no live worker. Too short wakes everyone too often,
# too long delays what a stopped worker held.
variable "min_idle" {
  type    = string
  default = "30s"
}

broker "redis" {
  url = var.redis_url
}

stream "payments" {
  codec = "json"

  entry = object({
    id           = number
    account      = string
    amount_cents = number
  })

  retention {
    max_length = 1000000
    max_age    = "14d"
    protect    = "unacknowledged" # trim only what every group has acknowledged
  }
}

stream "payments_screened" {
  name  = "payments.screened"
  codec = "json"

  entry = object({
    payment_id = number
    suspicious = bool
  })

  retention {
    max_length = 1000000
  }
}

stream "payments_dead" {
  name = "payments.dead"

  retention {
    max_age = "30d" # dead letters carry account data; keep no longer than needed
  }
}

handler "post_payment" {
  source   = "handlers/payments.lua"
  function = "post_payment"

  limits {
    timeout = "5s"
    memory  = "16MiB"
  }

  grant "log" {}
}

handler "screen_payment" {
  source   = "handlers/payments.lua" # no grants: a pure function of its entry
  function = "screen_payment"
}

retry "patient" {
  max_attempts = 5
  delay        = "1s"
  multiplier   = 4
  max_delay    = "5m"
  jitter       = 0.2
  max_age      = "24h"
}

group "ledger" {
  stream = stream.payments
  start  = "new"

  dead_letter {
    to = stream.payments_dead
  }

  # One read takes entries pending for min_idle first, then new ones. A retry leaves the entry pending
  # under its own id; it is claimed again min_idle later.
  subscription "post_payment" {
    enabled = !var.before_8_4
    handler = handler.post_payment
    retry   = retry.patient

    claim {
      min_idle = var.min_idle
      using    = "read" # claiming reads or nothing: refuses to start below 8.4
    }

    workers {
      count = 8
      key   = entry.account # one account, one worker, in order
    }
  }

  # Before Redis 8.4: one subscription reads new entries ...
  subscription "post_new_payment" {
    enabled = var.before_8_4
    handler = handler.post_payment
    retry   = retry.patient
    workers {
      count = 8
      key   = entry.account
    }
  }

  # ... and a second one takes over only what a stopped worker left pending.
  subscription "recover_payment" {
    enabled = var.before_8_4
    handler = handler.post_payment
    retry   = retry.patient
    claim {
      min_idle = var.min_idle
      only     = true
    }
  }
}

group "fraud" {
  stream = stream.payments
  start  = "beginning" # joined late: screen the payments already in the stream

  dead_letter {
    to = stream.payments_dead
  }

  subscription "screen_payment" {
    handler = handler.screen_payment

    claim {
      min_idle = var.min_idle # by claiming reads where the server has them, XAUTOCLAIM elsewhere
    }

    reply {
      to = stream.payments_screened # published and acknowledged in one step
    }
  }
}
