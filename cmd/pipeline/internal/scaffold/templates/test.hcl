# What {{.Of}} promises. Every test has streams, handlers and a stopped clock of its own.
{{range .Cases}}
test "{{.Name}}" {
  step "it arrives" {
    publish {
      to    = stream.{{.Stream}}
      entry = {{.Entry}}
    }
    assert {
      # Say what you expect, such as outcomes == ["ack"].
      condition = length(subscription.{{.Subscription}}.outcomes) == 1
    }
  }
}
{{end -}}
