# {{.Name}}: say here what it is for.

pipeline "{{.Name}}" {
  version       = "0.1.0"
  language      = 1
  drain_timeout = "20s" # a stop waits this long for handlers that run
}

variable "redis_url" {
  type        = string
  default     = env("REDIS_URL", "redis://localhost:6379")
  description = "Server that holds the streams."
  sensitive   = true # it may hold a password
}

broker "redis" {
  url = var.redis_url
}

# Where entries arrive.
stream "{{.Name}}" {
  codec = "json"

  # What a handler can rely on; another entry is set aside as a dead letter. Fields
  # that are not declared pass through unchanged.
  entry = object({
    id       = number
    customer = string
    state    = string
    quantity = number
  })

  # Without it the stream grows for ever.
  retention {
    max_age = "14d"
    protect = "unacknowledged" # trim only what every group has acknowledged
  }
}

# Where the handler's replies go.
stream "{{.Name}}_results" {
  name  = "{{.Name}}.results" # the key on the server
  codec = "json"

  entry = object({
    id          = number
    total_cents = number
  })

  retention {
    max_age = "14d"
  }
}

# What nobody could handle: a copy of the entry, and why. Look at it before it goes.
stream "{{.Name}}_dead" {
  name = "{{.Name}}.dead"

  retention {
    max_age = "30d"
  }
}

handler "{{.Name}}" {
  source = "handlers/{{.Name}}.lua"

  limits {
    timeout = "5s" # then the attempt has failed; below min_idle
  }
}

# How failed attempts are spaced: 1s, 4s, 16s, 64s; then the entry is a dead letter.
retry "patient" {
  max_attempts = 5
  delay        = "1s"
  multiplier   = 4
  max_delay    = "5m"
  jitter       = 0.2
}

# Every group gets every entry of its stream.
group "{{.Name}}" {
  stream = stream.{{.Name}}
  start  = "beginning" # of the stream; "new" leaves out what was there before the first run

  dead_letter {
    to = stream.{{.Name}}_dead
  }

  subscription "{{.Name}}" {
    handler = handler.{{.Name}}
    retry   = retry.patient

    # An entry idle this long belongs to no live worker, and another one takes it over.
    # Too short wakes everyone too often; too long delays what a stopped worker held.
    claim {
      min_idle = "30s"
    }

    workers {
      count = 4
      key   = entry.customer # entries of one customer run one after the other, in order
    }

    reply {
      to = stream.{{.Name}}_results # published and acknowledged in one step
    }
  }
}
