package arg_test

import (
	"errors"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// eval returns the value of a Starlark expression.
func eval(t *testing.T, expr string) starlark.Value {
	t.Helper()
	v, err := starlark.EvalOptions(&syntax.FileOptions{Set: true}, &starlark.Thread{}, "test", expr, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// unpackOne unpacks expr as the argument of f(x).
func unpackOne(t *testing.T, to any, expr string) error {
	t.Helper()
	return arg.Unpack("f", starlark.Tuple{eval(t, expr)}, nil, "x", to)
}

func TestKinds(t *testing.T) {
	for _, test := range []struct {
		name, expr string
		to         any
		want       string // the error, without `f: for parameter "x": `; "" for none
	}{
		{"int", "3", new(arg.Int), ""},
		{"int of a float", "3.0", new(arg.Int), "got 3.0, want an int"},
		{"int of a bool", "True", new(arg.Int), "got True, want an int"},
		{"int too large", "1 << 64", new(arg.Int), "got 18446744073709551616, want an int of 64 bits"},
		{"float of an int", "3", new(arg.Float), ""},
		{"float of a string", `"3"`, new(arg.Float), `got "3", want a number`},
		{"bool", "True", new(arg.Bool), ""},
		{"bool of an int", "1", new(arg.Bool), "got 1, want True or False"},
		{"string", `"a"`, new(arg.String), ""},
		{"string of None", "None", new(arg.String), "got None, want a string"},
		{"shape", "[2, 0]", new(arg.Shape), ""},
		{"shape of an int", "3", new(arg.Shape), ""},
		{"shape of strings", `[1, "a"]`, new(arg.Shape), `got "a" at index 1, want an int`},
		{"shape of a dict", "{1: 2}", new(arg.Shape), "got {1: 2}, want an int or a list of ints"},
		{"shape of a negative", "-1", new(arg.Shape), "got -1, want a non-negative int"},
		{"shape with a negative", "[2, -1]", new(arg.Shape), "got -1 at index 1, want a non-negative int"},
		{"dtype by name", `"int64"`, new(arg.DType), ""},
		{"dtype misspelt", `"flaot32"`, new(arg.DType), `got "flaot32", want a dtype (did you mean "float32"?)`},
		{"dtype of a number", "32", new(arg.DType), `got 32, want a dtype or its name (float32 or "float32")`},
		{"callable", "len", new(arg.Callable), ""},
		{"callable of None", "None", new(arg.Callable), "got None, want a function"},
		{"list", "(1, None)", new(arg.List), ""},
		{"list of a string", `"ab"`, new(arg.List), `got "ab", want a list or tuple`},
		{"optional int", "None", new(arg.OptInt), ""},
		{"optional int of a string", `"a"`, new(arg.OptInt), `got "a", want an int`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := unpackOne(t, test.to, test.expr); err != nil {
				var bad *op.ArgError
				if !errors.As(err, &bad) || bad.Func != "f" || bad.Param != "x" {
					t.Errorf("got the error %#v, want an ArgError of f about x", err)
				}
				got = strings.TrimPrefix(err.Error(), `f: for parameter "x": `)
			}
			if got != test.want {
				t.Errorf("%s: got %q, want %q", test.expr, got, test.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	var (
		shape arg.Shape
		dt    arg.DType
		opt   arg.OptInt
	)
	for _, err := range []error{unpackOne(t, &shape, "(2, 3)"), unpackOne(t, &dt, `"int32"`), unpackOne(t, &opt, "2")} {
		if err != nil {
			t.Error(err)
		}
	}
	if len(shape) != 2 || shape[1] != 3 || dt.D != dtype.Int32 || !opt.Set || opt.V != 2 {
		t.Errorf("got %v, %v, %v", shape, dt, opt)
	}
}

func TestUnpack(t *testing.T) {
	for _, test := range []struct {
		name, args, kwargs, want string
	}{
		{"all by position", "(1, 2, 3)", "{}", ""},
		{"by name", "()", `{"a": 1, "group": 3}`, ""},
		{"by the second name", "(1,)", `{"mode": 3}`, ""},
		{"None where it is skipped", "(1, 2, None)", "{}", ""},
		{"missing", "()", `{"b": 1}`, "f: missing argument for a"},
		{"too many", "(1, 2, 3, 4)", "{}", "f: got 4 arguments, want at most 3 arguments"},
		{"unexpected", "(1,)", `{"gruop": 1}`, "f: unexpected keyword argument gruop (did you mean group?)"},
		{"quite unexpected", "(1,)", `{"xyz": 1}`, "f: unexpected keyword argument xyz"},
		{"twice", "(1,)", `{"a": 1}`, "f: got multiple values for parameter a"},
		{"twice under two names", "(1, 2, 3)", `{"mode": 1}`, "f: got multiple values for parameter mode"},
		{"bad under the second name", "(1,)", `{"mode": "a"}`, `f: for parameter "group": got "a", want an int`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var a, b, group arg.Int
			dict := eval(t, test.kwargs).(*starlark.Dict)
			err := arg.Unpack("f", eval(t, test.args).(starlark.Tuple), dict.Items(), "a", &a, "b?", &b, "group|mode??", &group)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err == nil && a != 1 {
				t.Errorf("got a = %d, want 1", a)
			}
		})
	}
}

func TestShow(t *testing.T) {
	for _, test := range []struct{ expr, want string }{
		{"None", "None"},
		{"2.0", "2.0"},
		{`"a\nb"`, `"a\nb"`},
		{`"x" * 100`, `"` + strings.Repeat("x", 55) + `..."`},
		{"[1, [2, 3], (4,)]", "[1, [2, 3], (4,)]"},
		{"(1,)", "(1,)"},
		{"{'a': [1]}", `{"a": [1]}`},
		{"list(range(100))", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, ...]"},
		{"[[[1]]]", "[[[...]]]"},
		{"{1: {2: {3: 4}}}", "{1: {2: {...}}}"},
		{"set([1, 2])", "set([1, 2])"},
		{"len", "function len"},
		{"lambda: 0", "function lambda"},
		{"range(3)", "a range"},
	} {
		if got := arg.Show(eval(t, test.expr)); got != test.want {
			t.Errorf("Show(%s) = %s, want %s", test.expr, got, test.want)
		}
	}
	if got := arg.Show(nil); got != "nothing" {
		t.Errorf("Show(nil) = %s", got)
	}
}

// TestShowOfACycle shows lists that hold themselves.
func TestShowOfACycle(t *testing.T) {
	l := starlark.NewList(nil)
	l.Append(l)
	if got := arg.Show(l); got != "[[[...]]]" {
		t.Errorf("got %s", got)
	}
	d := starlark.NewDict(1)
	d.SetKey(starlark.String("d"), starlark.Tuple{d})
	if got := arg.Show(d); len(got) > 80 {
		t.Errorf("got %s", got)
	}
}
