package source

import (
	"testing"

	"go.starlark.net/syntax"
)

// surface are programs with what Starlark has not, and the same in Starlark with
// calls of functions that stand for what it has not.
var surface = []struct{ text, want string }{
	{"a @ b @ c", "at(at(a, b), c)"},
	{"a @ b * c + d", "at(a, b) * c + d"},
	{"a * b @ c", "at(a * b, c)"},
	{"-a @ b", "at(-a, b)"},
	{"a ** b ** c", "pow(a, pow(b, c))"},
	{"-a ** b", "-pow(a, b)"},
	{"a ** -b", "pow(a, -b)"},
	{"a ** -b ** c", "pow(a, -pow(b, c))"},
	{"2 ** x.y[0](1) * 3", "pow(2, x.y[0](1)) * 3"},
	{"not a ** b", "not pow(a, b)"},
	{"a % b", "mod(a, b)"},
	{"a @= b + c", "a = at(a, b + c)"},
	{"a **= b", "a = pow(a, b)"},
	{"a is None", "a == None"},
	{"a is not None and b", "a != None and b"},
	{"not a is True", "not a == True"},
	{"0 < a < 10", "0 < a and a < 10"},
	{"a <= -1 < c", "a <= -1 and -1 < c"},
	{"a < f() < c", "[x < y and y < c for x in [a] for y in [f()]][0]"},
	{"a < b == f() != d", "a < b and [b == x and x != d for x in [f()]][0]"},
	{"'a' 'b' \"c\"", "'a' + 'b' + \"c\""},
	{"'a' 'b' % c", "mod('a' + 'b', c)"},
	{"f'a'", "('a')"}, {"f''", "''"}, {"f'{x}'", "(fmt(x))"}, {"f'a{x}b{y}'", "texts('a', fmt(x), 'b', fmt(y))"},
	{"f'{x!r}'", "(fmt(x, 'r'))"}, {"f'{x:.3f}'", "(fmt(x, '', ('.3f')))"}, {"f'{x!s:>{w}}'", "(fmt(x, 's', ('>' + fmt(w))))"},
	{"f'{x=}'", "('x=' + fmt(x, 'r'))"}, {"f'{x = :.2f}'", "('x = ' + fmt(x, '', ('.2f')))"}, {"f'{{{x}}}'", "('{' + fmt(x) + '}')"},
	{"f'{d[\"a\"]}'", "(fmt(d[\"a\"]))"}, {"f'{d['a']}'", "(fmt(d['a']))"}, {"f\"\"\"{\nx\n}\"\"\"", "(fmt(x))"}, {"rf'\\d{x}'", "(r'\\d' + fmt(x))"}, {`rf'\{x}\}}'`, `('\\' + fmt(x) + '\\}')`},
	{"f'{x != y}'", "(fmt(x != y))"}, {"f'{x,}'", "(fmt(tuple))"}, {"f'{(lambda a: a)(1)}'", "(fmt((lambda a: a)(1)))"}, {"f'{ {1: 2}[1] }'", "(fmt({1: 2}[1]))"},
	{"f'{f'{x}'}'", "(fmt((fmt(x))))"}, {"f'a' 'b'", "('a') + 'b'"}, {"f'\\n{x}\\x41'", "('\\n' + fmt(x) + 'A')"}, {"f'{x:=+5}'", "(fmt(x, '', ('=+5')))"},
	{"f\"\"\"a\\\"{x}\"\"\"", "('a\"' + fmt(x))"}, {"f'''a\"'{x}'''", "('a\"\\'' + fmt(x))"},
	{"[0] * n", "times([0], n)"}, {"n * 'a'", "times(n, 'a')"}, {"x * y", "x * y"}, {"'-' * 40", "'-' * 40"}, {"s = str(x)\ny = s * n", "s = str(x)\ny = times(s, n)"}, {"s = [x]\ns *= n", "s = [x]\ns = times(s, n)"},
	{"s = str(x)\ny = s + s + s", "s = str(x)\ny = s + grow(s, s) + s"}, {"s = [x]\ns += y", "s = [x]\ns += growby(s, y)"}, {"s = [x]\ns = s + [1]", "s = [x]\ns = s + [1]"}, {"s = ''\ns += f'{x}'", "s = ''\ns += growby(s, (fmt(x)))"}, {"x + y", "x + y"},
	{"x.extend(y)", "x.extend(extend(x, y))"}, {"x.update(y)", "x.update(update(x, y))"}, {"x.update(y, z=1)", "x.update(y, z=1)"}, {"x.update(z=1)", "x.update(z=1)"}, {"''.join(y)", "''.join(join('', y))"}, {"x.join(*y)", "x.join(*y)"}, {"x.split(',')", "x.split(split(x, ','))"}, {"f(x).split(y)", "f(x).split(y)"},
	{"('a' + b) * 101", "times(('a' + b), 101)"}, {"s.replace(a, b)", "replace(s, a, b)"},
	{"s.format(x, a=1, *b)", "format(s, x, a=1, *b)"}, {"'{}'.format(1)", "format('{}', 1)"},
	{"x[1:2, 0]", "x[s(1, 2, None), 0]"}, {"x[..., 0]", "x[dots, 0]"}, {"x[:, None]", "x[s(None, None, None), None]"}, {"x[a, b]", "x[a, b]"}, {"x[1:2,]", "x[tuple]"}, {"x[::2, -1:]", "x[s(None, None, 2), s(-1, None, None)]"},
	{"x[0:2] = v", "set(v, x, 0, 2, None)"}, {"x[:] = v", "set(v, x, None, None, None)"}, {"x[1:-1, 0] = v", "x[s(1, -1, None), 0] = v"}, {"x[0:2] += v", "sliced(x)[s(0, 2, None)] += v"}, {"x[0:2], y = v", "sliced(x)[s(0, 2, None)], y = v"},
	{"sum(x for x in y if z)", "sum([x for x in pace(y, False, False) if z])"}, {"f(a, (x for x in y))", "f(a, ([x for x in elements(y)]))"},
	{"f(a, k=1, *x, **d)", "f(a, k=1, *x, **d)"}, {"f(*x, k=1)", "f(*x, **{'k': 1})"}, {"f(a, *x, b, *y)", "f(a, *spread(x, [b], y))"}, {"f(*x, a=1, b=2)", "f(*x, **{'a': 1, 'b': 2})"},
	{"f(*x, k=1, **d)", "f(*x, **keywords({'k': 1}, d))"}, {"f(**d, **e)", "f(**keywords(d, e))"}, {"f(k=1, *x, z=2)", "f(k=1, *x, **{'z': 2})"}, {"s.format(*x, a=1)", "format(s, *x, **{'a': 1})"},
	{"[x for x in range(4)]", "[x for x in range(4)]"}, {"[x for x in range(0, n)]", "[x for x in elements(range(0, n))]"}, {"[x for x in (1, 2)]", "[x for x in (1, 2)]"}, {"[x for x in range(100000)]", "[x for x in elements(range(100000))]"},
	{"[x for x in y for z in x]", "[x for x in pace(y, False, True) for z in x]"}, {"{x: 1 for x in y}", "{x: 1 for x in pace(y, True, False)}"}, {"{x: 1 for x in range(9) if x}", "{x: 1 for x in range(9) if x}"}, {"x.append(y)", "append(x.append, y)"}, {"f(x).insert(0, y)", "insert(f(x).insert, 0, y)"}, {"x.append(*y)", "x.append(*y)"}, {"x.append(v=y)", "x.append(v=y)"}, {"x.append()", "x.append()"}, {"append(y)", "append(y)"},
	{"s.add(x)", "add(s.add, x)"}, {"d.setdefault(k, [])", "setdefault(d.setdefault, k, [])"}, {"d.setdefault(k)", "d.setdefault(k)"},
	{"a | b", "a | b"}, {"a |= 1", "a |= 1"}, {"d | {1: 2}", "d | union(d, {1: 2})"}, {"d = {}\nd | a", "d = {}\nd | union(d, a)"}, {"d = set()\nd |= a", "d = set()\nd |= union(d, a)"}, {"d = {}\ne = d | a\ne | b", "d = {}\ne = d | union(d, a)\ne | union(e, b)"},
	{"[*x, 1, 2, *y]", "spread(x, [1, 2], y)"}, {"(1, *x)", "(row([1], x))"}, {"{**d, 'a': 1}", "dicts(d, {'a': 1})"}, {"{1, 2}", "many(spread([1, 2]))"}, {"{*x, 1}", "many(spread(x, [1]))"}, {"{x for x in y}", "many([x for x in elements(y)])"},
	{"a, *b, c = x", "a, b, c = unpack(x, 1, 1)"}, {"[*a, b] = x", "[a, b] = unpack(x, 0, 1)"}, {"x = y = v", "x, y = same(v, 2)"}, {"x[0] = y.z = a = v", "x[0], y.z, a = same(v, 3)"}, {"x[0:2] = y = v", "sliced(x)[s(0, 2, None)], y = same(v, 2)"},
	{"x = 1,", "x = tuple"}, {"x = 1_000", "x = 1000"}, {"def f(): ...", "def f(): dots"}, {"for i in 1, 2: a @ b", "for i in 1, 2: at(a, b)"},
}

// hidden are the names with which want writes what Starlark has not.
var hidden = map[string]string{"at": MatMul, "pow": Power, "mod": Modulo, "fmt": Format, "format": FormatMethod, "replace": ReplaceMethod, "times": Times, "grow": Grow, "growby": GrowBy, "extend": Extend, "append": Append, "insert": Insert, "elements": Elements, "add": Add, "setdefault": SetDefault, "union": Union, "pace": Pace, "update": Update, "join": Join, "split": Split, "texts": Texts, "s": Slice, "set": SetSlice, "sliced": Sliced, "dots": Ellipsis,
	"spread": Spread, "row": SpreadTuple, "dicts": JoinDicts, "keywords": JoinKeywords, "many": MakeSet, "unpack": Unpack, "same": Repeat}

// What Starlark has not becomes calls.
func TestLower(t *testing.T) {
	for _, c := range surface {
		f, err := Parse("f.star", c.text, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got, err := Lower(f)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		want, err := dialect.Parse("f.star", c.want, 0)
		if err != nil {
			t.Fatalf("%s: %v", c.want, err)
		}
		if g, w := form(got), form(want); g != w {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, g, w)
		}
	}
}

// form writes a tree out without positions and brackets.
func form(f *syntax.File) string {
	out := ""
	names := map[string]string{}
	for name, h := range hidden {
		names[h] = name
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			out += ")"
			return true
		case *syntax.Ident:
			name := n.Name
			if names[name] != "" {
				name = names[name]
			}
			if name == "<1>" || name == "<2>" {
				name = map[string]string{"<1>": "x", "<2>": "y"}[name]
			}
			out += name
		case *syntax.Literal:
			out += dump(n.Value)
		case *syntax.BinaryExpr:
			out += n.Op.String()
		case *syntax.UnaryExpr:
			out += n.Op.String()
		case *syntax.AssignStmt:
			out += n.Op.String()
		case *syntax.TupleExpr:
			if len(n.List) == 1 { // Starlark has them in brackets alone
				out += "tuple()"
				return false
			}
			out += "tuple"
		default:
			out += dump(n)[:7]
		}
		out += "("
		return true
	})
	return out
}
