# Orders of a shop, written by the shop as flat fields, are priced once and
# sent on to whoever has to act: the warehouse, customs, or a person.

pipeline "orders" {
  version       = "0.1.0"
  language      = 1
  drain_timeout = "10s"
}

variable "redis_url" {
  type        = string
  default     = env("REDIS_URL", "redis://localhost:6379")
  description = "Server that holds the streams."
  sensitive   = true
}

variable "home" {
  type        = string
  default     = "SE"
  description = "Country that orders are sent from: parcels to any other one need customs papers."

  validation {
    condition     = can(regex("^[A-Z][A-Z]$", var.home))
    error_message = "home is a country code of two capital letters, such as \"SE\"."
  }
}

variable "review_from_cents" {
  type        = number
  default     = 500000
  description = "Orders from this total on are looked at by a person."
}

variable "workers" {
  type    = number
  default = 4
}

locals {
  shop     = "shop"
  min_idle = "20s"
}

broker "redis" {
  url = var.redis_url
}

stream "orders" {
  name  = "${local.shop}.orders"
  codec = "fields" # XADD shop.orders '*' order 1 customer c-1 country SE item lamp quantity 1 unit_cents 4900

  entry = object({
    order      = number
    customer   = string
    country    = string
    item       = string
    quantity   = number
    unit_cents = number
    express    = optional(bool, false)
    coupon     = optional(string)
  })

  sensitive      = ["customer"]
  max_entry_size = "16KiB"

  retention {
    max_length = 500000
    max_age    = "30d"
    protect    = "unacknowledged"
  }
}

stream "priced" {
  name = "${local.shop}.priced"
  key  = entry.customer # parcels of one customer stay in order

  entry = object({
    order       = number
    customer    = string
    country     = string
    total_cents = number
    express     = bool
    coupon      = optional(string)
  })
}

stream "customs" {
  name = "${local.shop}.customs"
}

stream "review" {
  name = "${local.shop}.review"
}

stream "orders_dead" {
  name = "${local.shop}.orders.dead"

  retention {
    max_age = "14d"
  }
}

handler "price" {
  source   = "handlers/price.lua"
  function = "price"
  modules  = ["lib/rates.lua"]

  limits {
    timeout = "2s"
    memory  = "8MiB"
  }

  grant "log" {}
}

retry "short" {
  max_attempts = 4
  delay        = "500ms"
  multiplier   = 2
  max_delay    = "10s"
}

group "pricing" {
  stream = stream.orders
  start  = "beginning"

  dead_letter {
    to = stream.orders_dead
  }

  subscription "price" {
    handler    = handler.price
    retry      = retry.short
    batch      = 200
    on_invalid = "dead"

    claim {
      min_idle = local.min_idle
    }

    workers {
      count = var.workers
      key   = entry.customer
    }

    # Every order goes to the warehouse ...
    route "warehouse" {
      to = stream.priced
      headers = {
        lane = reply.express ? "express" : "standard"
      }
    }

    # ... one that leaves the country to customs as well ...
    route "customs" {
      to   = stream.customs
      when = entry.country != var.home
      key  = "${entry.country}-${entry.customer}"
    }

    # ... and a large one, or a first one with a coupon, to a person.
    route "review" {
      to   = stream.review
      when = reply.total_cents >= var.review_from_cents || headers["first-order"] == "yes" && entry.coupon != null
    }
  }
}
