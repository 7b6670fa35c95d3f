package eval

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// maxText bounds the strings that functions make, in bytes, and maxItems the
// lists: values of a pipeline file are small, and none may grow without bound.
const (
	maxText  = 1 << 20
	maxItems = 100_000
)

// functions are what every expression may call. env and hostname are added by
// the scope, where they are allowed.
var functions = map[string]function.Function{
	"length": lengthFunc, "contains": stdlib.ContainsFunc, "keys": stdlib.KeysFunc, "values": stdlib.ValuesFunc,
	"lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc, "concat": stdlib.ConcatFunc, "flatten": stdlib.FlattenFunc,
	"distinct": stdlib.DistinctFunc, "sort": stdlib.SortFunc, "min": stdlib.MinFunc, "max": stdlib.MaxFunc,
	"sum": sumFunc, "range": stdlib.RangeFunc, "format": formatFunc, "join": joinFunc, "split": stdlib.SplitFunc,
	"lower": stdlib.LowerFunc, "upper": stdlib.UpperFunc, "trimspace": stdlib.TrimSpaceFunc, "replace": replaceFunc,
	"startswith": affix("prefix", strings.HasPrefix), "endswith": affix("suffix", strings.HasSuffix),
	"substr": stdlib.SubstrFunc, "regex": stdlib.RegexFunc, "jsonencode": stdlib.JSONEncodeFunc, "jsondecode": jsonDecodeFunc,
	"base64encode": base64EncodeFunc, "base64decode": base64DecodeFunc,
	"try": tryfunc.TryFunc, "can": tryfunc.CanFunc, "coalesce": stdlib.CoalesceFunc,
	"tonumber": converter(cty.Number), "tostring": converter(cty.String), "tobool": converter(cty.Bool),
}

// FunctionNames are the names of all functions, env and hostname too.
func FunctionNames() []string {
	names := []string{"env", "hostname"}
	for name := range functions {
		names = append(names, name)
	}
	return names
}

// affix makes startswith and endswith.
func affix(name string, has func(s, affix string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: name, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(has(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// converter makes tonumber, tostring and tobool.
func converter(to cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
		Type:   function.StaticReturnType(to),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if to == cty.Number && args[0].Type() == cty.String && !args[0].IsNull() && !PlainNumber(args[0].AsString()) {
				return cty.NilVal, function.NewArgErrorf(0, "%s is not a number", Show(args[0]))
			}
			v, err := convert.Convert(args[0], to)
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "%s is not %s", Show(args[0]), A(TypeName(to)))
			}
			return v, nil
		},
	})
}

// lengthFunc counts the elements of a list, the members of an object, or the
// characters of a string.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		switch {
		case v.Type() == cty.String:
			return stdlib.Strlen(v)
		case v.Type().IsObjectType():
			return cty.NumberIntVal(int64(len(v.Type().AttributeTypes()))), nil
		case v.CanIterateElements():
			return v.Length(), nil
		}
		return cty.NilVal, function.NewArgErrorf(0, "%s has no length", A(TypeName(v.Type())))
	},
})

var sumFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if ty := args[0].Type(); !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
			return cty.NilVal, function.NewArgErrorf(0, "sum adds the numbers of a list")
		}
		total := cty.Zero
		for it := args[0].ElementIterator(); it.Next(); {
			_, e := it.Element()
			n, err := convert.Convert(e, cty.Number)
			if err != nil || n.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "%s is not a number", Show(e))
			}
			total = total.Add(n)
		}
		return total, nil
	},
})

// wide finds widths and precisions of a format that would make huge strings.
var wide = regexp.MustCompile(`%[-+# 0]*(\d{4,}|\d*\.\d{4,})`)

var formatFunc = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "format", Type: cty.String}},
	VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true},
	Type:     function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if wide.MatchString(args[0].AsString()) {
			return cty.NilVal, function.NewArgErrorf(0, "widths and precisions end at 999")
		}
		longest := 1000
		for _, a := range args[1:] {
			longest = max(longest, 16*cost(a))
		}
		if n := strings.Count(args[0].AsString(), "%"); n > 1 && n*longest > 16*maxText {
			return cty.NilVal, errTooLong
		}
		return stdlib.FormatFunc.Call(args)
	},
})

// errTooLong is a text that has grown beyond what a pipeline can need.
var errTooLong = errors.New("the result would be over 1 MiB")

// joinFunc joins the elements of lists with a text between.
var joinFunc = function.New(&function.Spec{
	Params:   stdlib.JoinFunc.Params(),
	VarParam: stdlib.JoinFunc.VarParam(),
	Type:     stdlib.JoinFunc.ReturnTypeForValues,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		n := 0
		for _, list := range args[1:] {
			n += list.LengthInt()
		}
		if n*len(args[0].AsString()) > maxText {
			return cty.NilVal, errTooLong
		}
		return stdlib.JoinFunc.Call(args)
	},
})

// replaceFunc replaces a text, or a regular expression between slashes.
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		str, sub, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
		if n := strings.Count(str, sub); n*(len(with)+1) > maxText {
			return cty.NilVal, errTooLong
		}
		if len(sub) > 1 && strings.HasPrefix(sub, "/") && strings.HasSuffix(sub, "/") {
			re, err := regexp.Compile(sub[1 : len(sub)-1])
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(1, "not a regular expression")
			}
			found, matched := re.FindAllStringIndex(str, -1), 0
			for _, at := range found {
				matched += at[1] - at[0]
			}
			// Each $ of the replacement may stand for a whole match.
			if len(found)*(len(with)+1)+matched*strings.Count(with, "$") > maxText {
				return cty.NilVal, errTooLong
			}
			return cty.StringVal(re.ReplaceAllString(str, with)), nil
		}
		return cty.StringVal(strings.ReplaceAll(str, sub, with)), nil
	},
})

// hugeNumber finds numbers that JSON may hold and nothing can print.
var hugeNumber = regexp.MustCompile(`[0-9][eE][+-]?[0-9]{4,}`)

var jsonDecodeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "str", Type: cty.String}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if hugeNumber.MatchString(args[0].AsString()) {
			return cty.NilVal, function.NewArgErrorf(0, "it holds a number that is too large")
		}
		return stdlib.JSONDecode(args[0])
	},
})

// hostnameFunc returns the given name; without one it fails.
func hostnameFunc(name string) function.Function {
	return function.New(&function.Spec{
		Type: function.StaticReturnType(cty.String),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			if name == "" {
				return cty.NilVal, errors.New("the name of this host is not known")
			}
			return cty.StringVal(name), nil
		},
	})
}

// envError is what env fails with when a variable is not set.
type envError struct{ name string }

func (e *envError) Error() string {
	return fmt.Sprintf("the environment variable %s is not set", e.name)
}

// envFunc reads an environment variable; its second argument is the default.
func envFunc(lookup func(string) (string, bool)) function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) > 2 {
				return cty.NilVal, errors.New("env takes a name and a default")
			}
			if lookup != nil {
				if v, ok := lookup(args[0].AsString()); ok {
					return cty.StringVal(v), nil
				}
			}
			if len(args) == 2 {
				return args[1], nil
			}
			return cty.NilVal, &envError{args[0].AsString()}
		},
	})
}
