package builtins

// Documentation of what Starlark brings: its values are in every program without a
// row.
func init() {
	for _, doc := range []struct{ name, text string }{
		{"print", "print(*x, sep=\" \") writes its arguments as a line, on every rank: equal lines of several ranks are one.\n>>> print(\"loss\", 0.5)\nloss 0.5"},
		{"len", "len(x) returns how many elements x has: of a string, list, tuple, dict, set or range; of a tensor the size of dim 0.\n>>> len([1, 2, 3])\n3"},
		{"range", "range(start=0, stop, step=1) returns the ints from start up to, and without, stop.\n>>> list(range(2, 10, 3))\n[2, 5, 8]"},
		{"str", "str(x) returns x as text, as print writes it.\n>>> str([1, \"a\"])\n\"[1, \\\"a\\\"]\""},
		{"repr", "repr(x) returns x as a script writes it.\n>>> repr(\"a\")\n\"\\\"a\\\"\""},
		{"type", "type(x) returns the name of x's type.\n>>> type(1), type([])\n(\"int\", \"list\")"},
		{"dir", "dir(x) returns a list of the names of x's attributes.\n>>> \"append\" in dir([])\nTrue"},
		{"hasattr", "hasattr(x, name) returns whether x has an attribute.\n>>> hasattr([], \"append\")\nTrue"},
		{"getattr", "getattr(x, name, default) returns the attribute of x that a string names; without default a missing one is an error.\n>>> getattr(struct(a=1), \"b\", 2)\n2"},
		{"__name__", "__name__ is \"__main__\" in the script that is run, and in a file that is loaded, or whose tests are run, its name without .star.\n>>> __name__ == \"__main__\"\nTrue"},
		{"hash", "hash(x) returns a hash of a string.\n>>> hash(\"a\")\n97"},
		{"abs", "abs(x) returns the absolute value of a number. Of a tensor it is x.abs().\n>>> abs(-2)\n2"},
		{"ord", "ord(c) returns the number of a character.\n>>> ord(\"a\")\n97"},
		{"chr", "chr(n) returns the character of a number.\n>>> chr(97)\n\"a\""},
		{"bytes", "bytes(x) returns the bytes of a string, or of a list of ints.\n>>> len(bytes(\"é\"))\n2"},
		{"fail", "fail(*x) ends the rank's program with an error of these texts.\n>>> str(attempt(fail, \"no\").error)\n\"fail: no\""},
		{"json.encode", "encode(x) returns x in JSON; tensors are nested lists.\n>>> json.encode({\"a\": [1, 2.5]})\n\"{\\\"a\\\":[1,2.5]}\""},
		{"json.decode", "decode(text, default) returns the value of a text in JSON; default that of a text that is none.\n>>> json.decode(\"[1, 2]\")\n[1, 2]"},
		{"json.indent", "indent(text, prefix=\"\", indent=\"\\t\") returns a text in JSON with a line for each element.\n>>> json.indent(\"[1]\", indent=\" \")\n\"[\\n 1\\n]\""},
		{"math.sqrt", "sqrt(x) returns the square root of a number. Of a tensor it is x.sqrt().\n>>> math.sqrt(9)\n3.0"},
		{"math.exp", "exp(x) returns e to the power of a number. Of a tensor it is x.exp().\n>>> math.exp(0)\n1.0"},
		{"math.log", "log(x, base=e) returns the logarithm of a number. Of a tensor it is x.log().\n>>> math.log(8, 2)\n3.0"},
		{"math.pow", "pow(x, y) returns x ** y as a float.\n>>> math.pow(2, 3)\n8.0"},
		{"math.floor", "floor(x) returns the greatest int that is no greater than a number.\n>>> math.floor(1.5)\n1"},
		{"math.ceil", "ceil(x) returns the least int that is no less than a number.\n>>> math.ceil(1.5)\n2"},
		{"math.round", "round(x) returns the float without fraction that is nearest to a number; halves go away from 0.\n>>> math.round(2.5)\n3.0"},
		{"math.fabs", "fabs(x) returns the absolute value of a number as a float.\n>>> math.fabs(-2)\n2.0"},
		{"math.sin", "sin(x) returns the sine of a number of radians.\n>>> math.sin(0)\n0.0"},
		{"math.cos", "cos(x) returns the cosine of a number of radians.\n>>> math.cos(0)\n1.0"},
		{"math.tan", "tan(x) returns the tangent of a number of radians.\n>>> math.tan(0)\n0.0"},
		{"math.tanh", "tanh(x) returns the hyperbolic tangent of a number.\n>>> math.tanh(0)\n0.0"},
		{"math.atan2", "atan2(y, x) returns the angle of a point, in radians.\n>>> math.atan2(0, 1)\n0.0"},
		{"math.hypot", "hypot(x, y) returns the length of a vector.\n>>> math.hypot(3, 4)\n5.0"},
		{"math.pi", "pi is the number 3.14159...\n>>> round(math.pi, 2)\n3.14"},
		{"math.e", "e is the number 2.71828...\n>>> round(math.e, 2)\n2.72"},
	} {
		if rows[doc.name] == nil {
			Register(&Row{Name: doc.name, Doc: doc.text})
		}
	}
}
