package eval

import "slices"

// FunctionDoc documents a function that expressions may call.
type FunctionDoc struct {
	Name string `json:"name"`
	// Signature names the parameters; one with "…" may stand any number of
	// times, one with "?" may be left out.
	Signature string `json:"signature"`
	// Doc is what it gives, as a sentence.
	Doc string `json:"doc"`
	// Example is a call, and Result what it gives, as JSON; Result is "" where
	// that depends on the machine.
	Example string `json:"example"`
	Result  string `json:"result,omitempty"`
	// Where is the only place where it may be called; "" is every constant
	// expression.
	Where string `json:"where,omitempty"`
}

// FunctionDocs document all functions, by topic.
func FunctionDocs() []FunctionDoc { return slices.Clone(functionDocs) }

var functionDocs = []FunctionDoc{
	{Name: "length", Signature: "length(value)", Doc: "How many elements a list, members an object, or characters a string has.", Example: `length(["a", "b"])`, Result: `2`},
	{Name: "contains", Signature: "contains(list, value)", Doc: "Whether the list holds the value.", Example: `contains(["SE", "NO"], "NO")`, Result: `true`},
	{Name: "keys", Signature: "keys(object)", Doc: "The names of the members, sorted.", Example: `keys({ b = 1, a = 2 })`, Result: `["a","b"]`},
	{Name: "values", Signature: "values(object)", Doc: "The values of the members, in the order of their names.", Example: `values({ b = 1, a = 2 })`, Result: `[2,1]`},
	{Name: "lookup", Signature: "lookup(object, name, default)", Doc: "A member of the object, or the default when there is none.", Example: `lookup({ a = 1 }, "b", 7)`, Result: `7`},
	{Name: "merge", Signature: "merge(object…)", Doc: "One object with the members of all; later ones win.", Example: `merge({ a = 1, b = 1 }, { b = 2 })`, Result: `{"a":1,"b":2}`},
	{Name: "concat", Signature: "concat(list…)", Doc: "One list of the elements of all.", Example: `concat([1], [2, 3])`, Result: `[1,2,3]`},
	{Name: "flatten", Signature: "flatten(list)", Doc: "The list with the elements of its lists in their place.", Example: `flatten([[1], [2, [3]]])`, Result: `[1,2,3]`},
	{Name: "distinct", Signature: "distinct(list)", Doc: "The list without repetitions.", Example: `distinct(["a", "b", "a"])`, Result: `["a","b"]`},
	{Name: "sort", Signature: "sort(list)", Doc: "A list of strings, sorted.", Example: `sort(["b", "a"])`, Result: `["a","b"]`},
	{Name: "min", Signature: "min(number…)", Doc: "The smallest number.", Example: `min(3, 1, 2)`, Result: `1`},
	{Name: "max", Signature: "max(number…)", Doc: "The largest number.", Example: `max(3, 1, 2)`, Result: `3`},
	{Name: "sum", Signature: "sum(list)", Doc: "The numbers of a list, added up.", Example: `sum([1, 2, 3.5])`, Result: `6.5`},
	{Name: "range", Signature: "range(number…)", Doc: "The numbers from 0 up to the given one, without it; or from a start, and by a step.", Example: `range(1, 7, 2)`, Result: `[1,3,5]`},

	{Name: "format", Signature: "format(format, value…)", Doc: "A text with values in the places of its verbs, such as `%s`, `%d` and `%03d`.", Example: `format("%s-%03d", "shop", 7)`, Result: `"shop-007"`},
	{Name: "join", Signature: "join(separator, list…)", Doc: "The strings of a list as one, with the separator between them.", Example: `join("-", ["a", "b"])`, Result: `"a-b"`},
	{Name: "split", Signature: "split(separator, string)", Doc: "The parts of a string between the separators.", Example: `split(",", "a,b")`, Result: `["a","b"]`},
	{Name: "lower", Signature: "lower(string)", Doc: "The string in lower case.", Example: `lower("AB")`, Result: `"ab"`},
	{Name: "upper", Signature: "upper(string)", Doc: "The string in upper case.", Example: `upper("ab")`, Result: `"AB"`},
	{Name: "trimspace", Signature: "trimspace(string)", Doc: "The string without space around it.", Example: `trimspace("  a ")`, Result: `"a"`},
	{Name: "replace", Signature: "replace(string, what, with)", Doc: "The string with every `what` replaced; between slashes `what` is a regular expression.", Example: `replace("a1b22", "/[0-9]+/", "#")`, Result: `"a#b#"`},
	{Name: "startswith", Signature: "startswith(string, prefix)", Doc: "Whether the string begins so.", Example: `startswith("eu-west", "eu-")`, Result: `true`},
	{Name: "endswith", Signature: "endswith(string, suffix)", Doc: "Whether the string ends so.", Example: `endswith("a.dead", ".dead")`, Result: `true`},
	{Name: "substr", Signature: "substr(string, offset, length)", Doc: "A part of the string, in characters; a length of -1 is the rest.", Example: `substr("hello", 1, 3)`, Result: `"ell"`},
	{Name: "regex", Signature: "regex(pattern, string)", Doc: "What the regular expression (RE2) matches first, or its groups; no match is an error, so ask with `can`.", Example: `regex("[a-z]+", "123abc")`, Result: `"abc"`},

	{Name: "jsonencode", Signature: "jsonencode(value)", Doc: "The value as JSON.", Example: `jsonencode({ a = [1, null] })`, Result: `"{\"a\":[1,null]}"`},
	{Name: "jsondecode", Signature: "jsondecode(string)", Doc: "The value that the JSON stands for.", Example: `jsondecode("[1, true]")`, Result: `[1,true]`},
	{Name: "base64encode", Signature: "base64encode(string)", Doc: "The string's UTF-8 as Base64.", Example: `base64encode("hé")`, Result: `"aMOp"`},
	{Name: "base64decode", Signature: "base64decode(string)", Doc: "The string that the Base64 stands for; it must be UTF-8.", Example: `base64decode("aMOp")`, Result: `"hé"`},

	{Name: "try", Signature: "try(expression…)", Doc: "The first expression that can be evaluated.", Example: `try(tonumber("x"), 5)`, Result: `5`},
	{Name: "can", Signature: "can(expression)", Doc: "Whether the expression can be evaluated.", Example: `can(regex("^[A-Z]+$", "SE"))`, Result: `true`},
	{Name: "coalesce", Signature: "coalesce(value…)", Doc: "The first value that is not null.", Example: `coalesce(null, "a")`, Result: `"a"`},
	{Name: "tonumber", Signature: "tonumber(value)", Doc: "The value as a number. No digit is lost.", Example: `tonumber("18446744073709551615")`, Result: `18446744073709551615`},
	{Name: "tostring", Signature: "tostring(value)", Doc: "The value as a string.", Example: `tostring(1.50)`, Result: `"1.5"`},
	{Name: "tobool", Signature: "tobool(value)", Doc: "The value as true or false.", Example: `tobool("true")`, Result: `true`},

	{Name: "env", Signature: "env(name, default?)", Doc: "An environment variable; one that is not set is an error without a default.", Example: `env("REDIS_URL", "redis://localhost:6379")`, Where: "the default of a variable"},
	{Name: "hostname", Signature: "hostname()", Doc: "The name of this host.", Example: `"ledger-${hostname()}"`, Where: "consumer of a subscription"},
}
