package operator

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// run runs a program and returns its globals.
func run(text string) (starlark.StringDict, error) {
	f, err := source.Parse("f.star", text, source.Options{Dialect: dialect})
	if err != nil {
		return nil, err
	}
	core, err := source.Lower(f)
	if err != nil {
		return nil, err
	}
	names := starlark.StringDict{"struct": starlark.NewBuiltin("struct", starlarkstruct.Make)}
	for name, v := range Library {
		names[name] = v
	}
	prog, err := starlark.FileProgram(core, names.Has)
	if err != nil {
		return nil, err
	}
	return prog.Init(new(starlark.Thread), names)
}

// What is written on the left is what CPython 3.12 prints of it.
func TestNotations(t *testing.T) {
	const setup = "x = 3.14159\nn = 42\ns = 'abc'\nd = {'a': 1, 'k': [10, 20]}\nl = [0, 1, 2, 3, 4]\nneg = -7\nw = 8\n"
	for _, c := range []struct{ expr, want string }{
		{"2 ** 10", "1024"}, {"2 ** 100", "1267650600228229401496703205376"}, {"2 ** -1", "0.5"}, {"2 ** 0.5", "1.4142135623730951"}, {"(-8) ** 3", "-512"}, {"-2 ** 2", "-4"}, {"0 ** 0", "1"}, {"(-1) ** 10000000000000000000001", "-1"}, {"4.0 ** 2", "16.0"}, {"2 ** 3 ** 2", "512"},
		{"n % 5", "2"}, {"neg % 5", "3"}, {"7.5 % 2", "1.5"},
		{"'%d' % n", "42"}, {"'%5d|%-5d|%05d|%+d|% d' % (n, n, n, n, n)", "   42|42   |00042|+42| 42"}, {"'%.3f' % x", "3.142"}, {"'%8.2f|%-8.2f|%08.2f' % (x, x, -x)", "    3.14|3.14    |-0003.14"},
		{"'%e %g %G' % (x, 1e10, 1e-10)", "3.141590e+00 1e+10 1E-10"}, {"'%x %X %o %#x' % (255, 255, 8, 255)", "ff FF 10 0xff"}, {"'%s %r' % (s, s)", "abc \"abc\""}, {"'%5s|%-5s|%.2s' % (s, s, s)", "  abc|abc  |ab"},
		{"'%c%c' % (65, 'b')", "Ab"}, {"'%%' % ()", "%"}, {"'%(a)d%(a)s' % d", "11"}, {"'%d' % 3.9", "3"}, {"'%d' % -3.9", "-3"}, {"'%.3d' % 5", "005"}, {"'%6.3d' % -5", "  -005"}, {"'%*d' % (5, n)", "   42"}, {"'%.*f' % (2, x)", "3.14"}, {"'%s' % (l,)", "[0, 1, 2, 3, 4]"}, {"'%s' % l", "[0, 1, 2, 3, 4]"}, {"'%s' % None", "None"}, {"'%d' % True", "1"}, {"'%f' % 1", "1.000000"}, {"'%5.1f%%' % 99.5", " 99.5%"}, {"'%i' % n", "42"},
		{"'{} {}'.format(1, 2)", "1 2"}, {"'{0} {1} {0}'.format(1, 2)", "1 2 1"}, {"'{a} {b:>4}'.format(a=1, b='z')", "1    z"}, {"'{:.2f}|{:>8}|{:<8}|{:^8}|{:,}'.format(x, s, s, s, 1234567)", "3.14|     abc|abc     |  abc   |1,234,567"}, {"'{{{}}}'.format(1)", "{1}"}, {"'{!r}'.format(s)", "\"abc\""}, {"'{:{}}|{:{w}}'.format(1, 4, 2, w=3)", "   1|  2"}, {"'{d[a]} {d[k][1]} {0.v}'.format(struct(v=7), d=d)", "1 20 7"}, {"'{:%}'.format(0.25)", "25.000000%"}, {"'{:x}'.format(255)", "ff"}, {"'{}'.format(None)", "None"},
		{"f'{x:.3f}'", "3.142"}, {"f'{n}{s}'", "42abc"}, {"f'{n:>{w}}|'", "      42|"}, {"f'{n:{w}.{w - 5}f}|'", "  42.000|"}, {"f'{s!r:>7}'", "  \"abc\""}, {"f'{n + 1=}'", "n + 1=43"}, {"f'{s=}'", "s=\"abc\""}, {"f'{x = :.1f}'", "x = 3.1"}, {"f'{{{n}}}'", "{42}"}, {"f'{d['a']} {d[\"k\"][0]}'", "1 10"}, {"f'{\", \".join([str(i) for i in l])}'", "0, 1, 2, 3, 4"}, {"f'{n:b} {n:e}'", "101010 4.200000e+01"}, {"f'{True} {None} {l}'", "True None [0, 1, 2, 3, 4]"}, {"f'{True:d}'", "1"}, {"f'{n if n > 1 else 0}'", "42"}, {"f''", ""}, {"f'a' 'b' f'{n}'", "ab42"}, {"f'{[i for i in l if i > 2]}'", "[3, 4]"}, {"rf'\\n{n}'", "\\n42"}, {"f'{'é'!a}'", "\"\\u00e9\""}, {"f'{n!s:>4}'", "  42"}, {"f'\\u00e9{n}\\t'", "é42\t"},
		{"[*l[:2], 9, *(7, 8)]", "[0, 1, 9, 7, 8]"}, {"(*s.elems(), 1)", `("a", "b", "c", 1)`}, {"{**d, 'a': 2}", `{"a": 2, "k": [10, 20]}`}, {"sorted({1, *l, 1})", "[0, 1, 2, 3, 4]"}, {"sorted({i % 2 for i in l})", "[0, 1]"}, {"len({1, 1})", "1"},
		{"dict(*[[('a', 1)]], b=2)", `{"a": 1, "b": 2}`}, {"dict(**d, b=2, **{'c': 3})", `{"a": 1, "k": [10, 20], "b": 2, "c": 3}`}, {"max(*l, 9, *[3])", "9"}, {"'{}{}{b}'.format(*l[:2], b=s)", "01abc"},
		{"None is None", "True"}, {"n is not None", "True"}, {"n is None", "False"}, {"True is True", "True"}, {"1 is True", "False"},
		{"1 < 2 < 3", "True"}, {"1 < 2 > 3", "False"}, {"0 <= n < 100 != 5", "True"}, {"1 < len(l) < 6 < len(s) + 4", "True"}, {"3 < 1 < l[99]", "False"},
		{"1_000_000", "1000000"}, {"0xff_ff if False else 1_0.5_0", "10.5"}, {"[y for y in (i * 2 for i in l)]", "[0, 2, 4, 6, 8]"}, {"max(i for i in l if i < 3)", "2"}, {"'a' 'b'", "ab"}, {"u'a'", "a"}, {"R'\\d'", "\\d"},
	} {
		globals, err := run(setup + "got = " + c.expr)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
		} else if got := str(globals["got"]); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.expr, got, c.want)
		}
	}
}

// Assignment to slices of lists is Python's.
func TestSetSlice(t *testing.T) {
	for _, c := range []struct{ stmt, want string }{
		{"l[1:3] = ['a']", `[0, "a", 3, 4]`}, {"l[:] = []", "[]"}, {"l[1:1] = [7, 8]", "[0, 7, 8, 1, 2, 3, 4]"}, {"l[5:] = [5]", "[0, 1, 2, 3, 4, 5]"}, {"l[-2:] = (9,)", "[0, 1, 2, 9]"}, {"l[::2] = 'abc'.elems()", `["a", 1, "b", 3, "c"]`}, {"l[::-1] = [4, 3, 2, 1, 0]", "[0, 1, 2, 3, 4]"}, {"l[3:1] = ['x']", `[0, 1, 2, "x", 3, 4]`}, {"l[1:3] = l", "[0, 0, 1, 2, 3, 4, 3, 4]"},
		{"y = l[:1] = [7, 8]\nl = l[:3] + y", "[7, 8, 1, 7, 8]"}, {"a, l[:2] = 9, []\nl.append(a)", "[2, 3, 4, 9]"}, {"[l[3:], a] = 'xy'.elems(), 1", `[0, 1, 2, "x", "y"]`}, {"l[1:3] += [9]", "[0, 1, 2, 9, 3, 4]"}, {"l[::2] = l[:0] = [7, 8, 9]", "[7, 8, 9, 7, 1, 8, 3, 9]"},
		{"x = 5\nx **= 2\nl = [x]", "[25]"},
		{"a, *b = l\nl = b + [a]", "[1, 2, 3, 4, 0]"}, {"*a, b = l\nl = [b, a]", "[4, [0, 1, 2, 3]]"}, {"a, *b, c = 'xy'.elems()\nl = [a, b, c]", `["x", [], "y"]`}, {"x = l[0] = 7\nl = l[:2] + [x]", "[7, 1, 7]"}, {"x = y = []\nx.append(1)\nl = y", "[1]"}, {"a = b, c = 1, 2\nl = [a, b, c]", "[(1, 2), 1, 2]"},
	} {
		globals, err := run("l = [0, 1, 2, 3, 4]\n" + c.stmt)
		if err != nil {
			t.Errorf("%s: %v", c.stmt, err)
		} else if got := globals["l"].String(); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.stmt, got, c.want)
		}
	}
}

// Arguments are evaluated in the order in which they are written.
func TestArgumentsInOrder(t *testing.T) {
	globals, err := run("log = []\ndef f(x):\n  log.append(x)\n  return x\ndef g(*a, **k):\n  return a, k\nx = g(f(1), *f([2]), k=f(3), *f([4]), **f({'l': 5}), m=f(6))\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := globals["x"].String(), `((1, 2, 4), {"k": 3, "l": 5, "m": 6})`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := globals["log"].String(), `[1, [2], [4], 3, {"l": 5}, 6]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The order of evaluation in chains is that of Python, and each operand is
// evaluated once.
func TestChainsEvaluateOnce(t *testing.T) {
	globals, err := run("log = []\ndef f(x):\n  log.append(x)\n  return x\na = f(1) < f(2) < f(3)\nb = f(5) < f(4) < f(6)\nc = f(1) < f(2) < f(3) < f(0) < f(9)\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := globals["log"].String(), "[1, 2, 3, 5, 4, 1, 2, 3, 0]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := globals["a"].String() + globals["b"].String() + globals["c"].String(); got != "TrueFalseFalse" {
		t.Errorf("got %s, want TrueFalseFalse", got)
	}
}

// Mistakes are told in the words of the script.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"1 @ 2", "@: got 1 and 2, want two tensors"}, {"'a' ** 2", "**: got a string and 2, want numbers or tensors"}, {"0 ** -1", "**: got 0 and -1, want a power that is not negative"}, {"(-8) ** 0.5", "**: got -8 and 0.5, want an integral power of a negative number"}, {"10 ** 10000000", "**: got 10 and 10000000, want an int of at most 1048576 bits"},
		{"'%d %d' % 1", "%: got 1 value, want more (one for each field of the text)"}, {"'%d' % (1, 2)", "%: got 2 values for 1 field of the text, want one for each"}, {"'%d' % 'a'", "%: got a string for %d, want a number"}, {"'%.2f' % 'a'", `%: for the format ">.2f" of a string: it has the type 'f', which a string does not have`}, {"'%y' % 1", "%: got %y, want %s"}, {"'%' % 1", "%: got a text that ends inside of a field"}, {"'%(a)d' % 1", "%: got no dict"}, {"'%(b)d' % {'a': 1}", `%: got a dict without "b"`},
		{"'{}'.format()", "format: got 0 arguments, want one for each field (the text has field 0)"}, {"'{x}'.format(1)", "format: got no argument x"}, {"'{'.format(1)", "format: got a { that is never closed"}, {"'}'.format(1)", "format: got a } that closes nothing"}, {"'{:q}'.format(1)", `format: for the format "q": it has "q" where a type or the end should be`}, {"'{} {0}'.format(1)", "format: got {0} beside {}, want one of both"}, {"'{0} {}'.format(1)", "format: got {} beside fields with numbers"}, {"'{!x}'.format(1)", "format: got !x in a field"}, {"[].format(1)", "list has no .format field or method"},
		{"f'{[1]:.2f}'", `f-string: for the format ".2f": got a list, want a number`}, {"f'{\"a\":d}'", `f-string: for the format "d" of a string: it has the type 'd'`},
	} {
		_, err := run("got = " + c.expr)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.expr, err, c.want)
		}
	}
	for _, c := range []struct{ stmt, want string }{
		{"l = [1]\nl[0:1] = 5", "x[a:b] = v: got 5, want a list of the new elements"}, {"l = [1]\nl[::2] = [1, 2]", "x[a:b] = v: got 2 elements, want 1 (as many as the slice ::2 has)"}, {"l = 'a'\nl[0:1] = 'b'", "x[a:b] = v: got a string, want a list or a tensor"}, {"l = [1]\nl['a':] = []", "x[a:b] = v: got the bound a string of a slice, want an int"}, {"l = [1]\nl[::0] = []", "got the step 0"},
		{"a, *b, c = [1]", "=: got 1 value, want 2 or more"}, {"a, *b = 5", "=: got 5, want a list"}, {"max(*5, *[1])", "*: got 5, want a list"}, {"dict(**{'a': 1}, **5)", "**: got 5, want a dict"}, {"dict(**{'a': 1}, a=2)", `**: got the argument "a" twice`},
	} {
		if _, err := run(c.stmt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.stmt, err, c.want)
		}
	}
}
