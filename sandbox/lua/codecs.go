package lua

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	glua "github.com/yuin/gopher-lua"
)

// openCodecs defines base64, hex and crypto.
func (v *vm) openCodecs() {
	v.library("base64", []entry{{"decode", v.base64Decode}, {"encode", v.base64Encode}})
	v.library("hex", []entry{{"decode", v.hexDecode}, {"encode", v.hexEncode}})
	v.library("crypto", []entry{{"equal", v.cryptoEqual}, {"hmac_sha256", v.hmacSHA256}, {"sha256", v.sha256}})
}

func (v *vm) base64Encode(l *glua.LState) int {
	s := v.argText(1)
	v.use(int64(len(s)/32), int64(len(s)))
	if v.base64URL() {
		return v.pushText(base64.RawURLEncoding.EncodeToString([]byte(s)))
	}
	return v.pushText(base64.StdEncoding.EncodeToString([]byte(s)))
}

// base64Decode reads both alphabets, padded or not.
func (v *vm) base64Decode(l *glua.LState) int {
	s := v.argText(1)
	v.use(int64(len(s)/32), int64(len(s)))
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	out, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		v.raise("this text is not base64")
	}
	return v.pushText(string(out))
}

func (v *vm) base64URL() bool {
	switch kind := v.optText(2, ""); kind {
	case "":
		return false
	case "url":
		return true
	default:
		v.raise(`base64.encode knows the kind "url", not %q`, short(kind))
	}
	return false
}

func (v *vm) hexEncode(l *glua.LState) int {
	s := v.argText(1)
	v.use(int64(len(s)/32), int64(len(s)))
	return v.pushText(hex.EncodeToString([]byte(s)))
}

func (v *vm) hexDecode(l *glua.LState) int {
	s := v.argText(1)
	v.use(int64(len(s)/32), int64(len(s)))
	out, err := hex.DecodeString(s)
	if err != nil {
		v.raise("this text is not hexadecimal")
	}
	return v.pushText(string(out))
}

// sha256 is the digest in hexadecimal.
func (v *vm) sha256(l *glua.LState) int {
	s := v.argText(1)
	v.use(20+int64(len(s)/8), int64(len(s)))
	sum := sha256.Sum256([]byte(s))
	return v.pushText(hex.EncodeToString(sum[:]))
}

// hmacSHA256 is the code of a text under a key, in hexadecimal.
func (v *vm) hmacSHA256(l *glua.LState) int {
	key, s := v.argText(1), v.argText(2)
	v.use(40+int64((len(key)+len(s))/8), int64(len(key)+len(s)))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(s))
	return v.pushText(hex.EncodeToString(mac.Sum(nil)))
}

// cryptoEqual compares two codes in a time that does not depend on where they
// differ.
func (v *vm) cryptoEqual(l *glua.LState) int {
	a, b := v.argText(1), v.argText(2)
	v.use(int64(len(a)/16), 0)
	l.Push(glua.LBool(hmac.Equal([]byte(a), []byte(b))))
	return 1
}
