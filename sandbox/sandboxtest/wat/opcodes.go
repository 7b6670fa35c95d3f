package wat

import "strings"

// opcode is an instruction: its bytes and the kinds of its immediates.
type opcode struct {
	code       []byte
	immediates string
}

var opcodes = func() map[string]opcode {
	all := map[string]opcode{
		"unreachable": {[]byte{0x00}, ""}, "nop": {[]byte{0x01}, ""},
		"block": {[]byte{0x02}, "t"}, "loop": {[]byte{0x03}, "t"}, "if": {[]byte{0x04}, "t"}, "else": {[]byte{0x05}, ""}, "end": {[]byte{0x0b}, ""},
		"br": {[]byte{0x0c}, "u"}, "br_if": {[]byte{0x0d}, "u"}, "br_table": {[]byte{0x0e}, "r"}, "return": {[]byte{0x0f}, ""},
		"call": {[]byte{0x10}, "f"}, "call_indirect": {[]byte{0x11}, "g0"}, "return_call": {[]byte{0x12}, "f"},
		"drop": {[]byte{0x1a}, ""}, "select": {[]byte{0x1b}, ""},
		"local.get": {[]byte{0x20}, "u"}, "local.set": {[]byte{0x21}, "u"}, "local.tee": {[]byte{0x22}, "u"},
		"global.get": {[]byte{0x23}, "u"}, "global.set": {[]byte{0x24}, "u"},
		"table.get": {[]byte{0x25}, "u"}, "table.set": {[]byte{0x26}, "u"},
		"memory.size": {[]byte{0x3f}, "0"}, "memory.grow": {[]byte{0x40}, "0"},
		"i32.const": {[]byte{0x41}, "s"}, "i64.const": {[]byte{0x42}, "s"}, "f64.const": {[]byte{0x44}, "d"},
		"ref.null": {[]byte{0xd0, 0x70}, ""}, "ref.is_null": {[]byte{0xd1}, ""}, "ref.func": {[]byte{0xd2}, "f"},
		"memory.init": {[]byte{0xfc, 8}, "u0"}, "data.drop": {[]byte{0xfc, 9}, "u"},
		"memory.copy": {[]byte{0xfc, 10}, "00"}, "memory.fill": {[]byte{0xfc, 11}, "0"},
		"table.init": {[]byte{0xfc, 12}, "uu"}, "elem.drop": {[]byte{0xfc, 13}, "u"}, "table.copy": {[]byte{0xfc, 14}, "uu"},
		"table.grow": {[]byte{0xfc, 15}, "u"}, "table.size": {[]byte{0xfc, 16}, "u"}, "table.fill": {[]byte{0xfc, 17}, "u"},
		"atomic.fence": {[]byte{0xfe, 3}, "0"}, "v128.const0": {append([]byte{0xfd, 12}, make([]byte, 16)...), ""},
	}
	for i, name := range strings.Fields(memoryNames) {
		all[name] = opcode{[]byte{byte(0x28 + i)}, "m"}
	}
	for i, name := range strings.Fields(numericNames) {
		all[name] = opcode{[]byte{byte(0x45 + i)}, ""}
	}
	return all
}()

const memoryNames = `i32.load i64.load f32.load f64.load i32.load8_s i32.load8_u i32.load16_s i32.load16_u
i64.load8_s i64.load8_u i64.load16_s i64.load16_u i64.load32_s i64.load32_u
i32.store i64.store f32.store f64.store i32.store8 i32.store16 i64.store8 i64.store16 i64.store32`

const numericNames = `i32.eqz i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u i32.ge_s i32.ge_u
i64.eqz i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u i64.ge_s i64.ge_u
f32.eq f32.ne f32.lt f32.gt f32.le f32.ge f64.eq f64.ne f64.lt f64.gt f64.le f64.ge
i32.clz i32.ctz i32.popcnt i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u i32.and i32.or i32.xor i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr
i64.clz i64.ctz i64.popcnt i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u i64.and i64.or i64.xor i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr
f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign
f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign
i32.wrap_i64 i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u i64.extend_i32_s i64.extend_i32_u
i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u f32.demote_f64
f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32
i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64
i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s`
