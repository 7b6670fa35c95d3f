handler "{{.Name}}" {
  source = "{{.Source}}"

  limits {
    timeout = "5s" # below min_idle
  }
}
{{if .NewDead}}
stream "{{.Dead}}" {
  retention {
    max_age = "30d"
  }
}
{{end}}
# A group of its own: it gets every entry of the stream, whatever the other groups do.
group "{{.Name}}" {
  stream = stream.{{.Stream}}

  dead_letter {
    to = stream.{{.Dead}}
  }

  subscription "{{.Name}}" {
    handler = handler.{{.Name}}

    claim {
      min_idle = "30s" # an entry idle this long belongs to no live worker
    }
  }
}
