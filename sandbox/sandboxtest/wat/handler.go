package wat

// Handler is a module that keeps the interface "pipeline 1" and whose function
// handle(place, length) -> i64 is that code. Everything else is added as given
// in m: functions, imports, data, and so on. The input buffer lies at 1 MiB;
// what lies below is the module's own.
func Handler(locals, code string, m Module) []byte {
	if m.Memory == "" {
		m.Memory = "32"
	}
	m.Funcs = append([]Func{
		{Export: "pipeline_abi_1", Sig: "->"},
		{Export: "pipeline_alloc", Sig: "i32->i32", Code: "i32.const 1048576"},
		{Export: "handle", Sig: "i32 i32->i64", Locals: locals, Code: code},
	}, m.Funcs...)
	return m.Bytes()
}

// Returns is the code that returns a result text which lies at a place.
func Returns(place int64, text string) (code string, data Data) {
	return "i64.const " + itoa(place<<32|int64(len(text))), Data{At: int32(place), Bytes: text}
}

func itoa(n int64) string {
	if n == 0 {
		return "0"
	}
	var out []byte
	for ; n > 0; n /= 10 {
		out = append([]byte{byte('0' + n%10)}, out...)
	}
	return string(out)
}
