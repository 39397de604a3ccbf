package builtins

import (
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/builtins/object"
	"tpsh/lang/operator"
	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{
		Name: "planning",
		Doc: "planning() returns whether this is a plan: whether the script runs on shapes alone, under tpsh plan.\n" +
			">>> planning()\nFalse",
		Fn: func(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
				return nil, err
			}
			return starlark.Bool(e.Planning()), nil
		},
	}, &Row{
		Name: "known",
		Doc: "known(x, otherwise) returns otherwise if x is unknown or has something unknown in it, as a list, and x if it is anything else.\n" +
			"In a plan numbers that come from elements are unknown (an item, a loss): no decision can hang on one. A script\n" +
			"that decides says so what the plan is to go on with.\n" +
			">>> known(tensor(2.0).item() < 3, True)\nTrue",
		Fn: func(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var x, otherwise starlark.Value
			if err := arg.Unpack(b.Name(), args, kwargs, "x", &x, "otherwise", &otherwise); err != nil {
				return nil, err
			}
			if holdsUnknown(x) {
				return otherwise, nil
			}
			return x, nil
		},
	})
}

// An Unknown is a number that would come from elements, where there are none.
// What is computed with it is unknown.
type Unknown struct {
	env  *Env
	kind string // "float", "int" or "bool"
}

var (
	_ starlark.Value      = (*Unknown)(nil)
	_ starlark.HasBinary  = (*Unknown)(nil)
	_ starlark.HasUnary   = (*Unknown)(nil)
	_ starlark.Comparable = (*Unknown)(nil)
)

// unknownOf returns an unknown element of a tensor of dt.
func unknownOf(e *Env, dt dtype.DType) *Unknown {
	switch {
	case dt == dtype.Bool:
		return &Unknown{e, "bool"}
	case dt.Differentiable():
		return &Unknown{e, "float"}
	}
	return &Unknown{e, "int"}
}

// dtype returns that of a tensor of u.
func (u *Unknown) dtype() dtype.DType {
	switch u.kind {
	case "bool":
		return dtype.Bool
	case "int":
		return dtype.Int64
	}
	return dtype.Float64
}

// String implements starlark.Value.
func (u *Unknown) String() string { return "?" }

// Type implements starlark.Value.
func (u *Unknown) Type() string { return "unknown" }

// MarshalJSON writes u as text does.
func (u *Unknown) MarshalJSON() ([]byte, error) { return []byte(`"?"`), nil }

// Of returns u as a number of the rank that e is of.
func (u *Unknown) Of(e *Env) *Unknown { return &Unknown{e, u.kind} }

// Freeze implements starlark.Value.
func (u *Unknown) Freeze() {}

// waysOut says what a script may do that decides on an unknown number.
const waysOut = "a plan has no elements: known(x, otherwise) says what it is to go on with, planning() whether it is one"

// An undecidedError says that a decision hangs on an unknown number.
type undecidedError struct{ what string }

func (e *undecidedError) Error() string {
	return e.what + " hangs on a number that depends on elements (" + waysOut + ")"
}

// Truth implements starlark.Value: no decision can hang on u.
func (u *Unknown) Truth() starlark.Bool {
	u.env.Leave(&undecidedError{"a decision"})
	return false
}

// Hash implements starlark.Value.
func (u *Unknown) Hash() (uint32, error) { return 0, &undecidedError{"a key"} }

// Binary implements starlark.HasBinary.
func (u *Unknown) Binary(tok syntax.Token, y starlark.Value, _ starlark.Side) (starlark.Value, error) {
	kind := u.kind
	switch y := y.(type) {
	case *Tensor:
		return nil, nil
	case starlark.Int, starlark.Bool:
	case starlark.Float:
		kind = "float"
	case *Unknown:
		if y.kind == "float" {
			kind = "float"
		}
	default:
		return nil, nil
	}
	if tok == syntax.SLASH {
		kind = "float"
	}
	if kind == "bool" && tok != syntax.AMP && tok != syntax.PIPE && tok != syntax.CIRCUMFLEX {
		kind = "int"
	}
	return &Unknown{u.env, kind}, nil
}

// Unary implements starlark.HasUnary.
func (u *Unknown) Unary(tok syntax.Token) (starlark.Value, error) {
	if tok == syntax.NOT {
		return nil, nil
	}
	return u, nil
}

// CompareSameType implements starlark.Comparable. Comparisons that a script writes
// are unknown: those are other functions (compareIn).
func (u *Unknown) CompareSameType(tok syntax.Token, y starlark.Value, _ int) (bool, error) {
	if u == y && (tok == syntax.EQL || tok == syntax.NEQ) {
		return tok == syntax.EQL, nil
	}
	return false, &undecidedError{"a comparison"}
}

// isUnknown reports whether v is unknown.
func isUnknown(v starlark.Value) bool {
	_, ok := v.(*Unknown)
	return ok
}

// operand returns u as a number that operators take.
func (u *Unknown) operand() (*tensor.Tensor, error) {
	return tensor.UnknownNumber(u.env.Runtime.Ops().Alloc, u.dtype())
}

// hintUnknown returns what to do where the interpreter or an argument refuses an
// unknown number with message, or "".
func hintUnknown(message string) string {
	for _, word := range []string{"got unknown", "unknown * ", " * unknown", "which a plan has not", "unknown, want", "got ?", "key unknown", "index: unknown", "an unknown number", " < unknown", "unknown < ", " > unknown", "unknown > "} {
		if strings.Contains(message, word) {
			return waysOut
		}
	}
	return ""
}

// lenient are functions of numbers, which are unknown of unknown ones.
var lenient = []string{"abs", "float", "int", "max", "min", "round", "sum", "divmod"}

// withUnknown makes the functions of numbers among names take unknown ones, and
// adds the comparisons that a plan's scripts are rewritten to.
func withUnknown(e *Env, names starlark.StringDict) {
	for _, name := range lenient {
		f, ok := names[name].(*starlark.Builtin)
		if !ok {
			if f, ok = starlark.Universe[name].(*starlark.Builtin); !ok {
				continue
			}
		}
		names[name] = leniently(e, f)
	}
	members := starlark.StringDict{}
	for name, v := range operator.Math.Members {
		if f, ok := v.(*starlark.Builtin); ok {
			v = leniently(e, f)
		}
		members[name] = v
	}
	names["math"] = &starlarkstruct.Module{Name: "math", Members: members}
	names[compareName] = starlark.NewBuiltin(compareName, func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return compareIn(e, thread, b, args, kwargs)
	})
}

// leniently returns f, whose result is unknown if one of its arguments is, or an
// element of a list of them.
func leniently(e *Env, f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		for _, v := range args {
			if u := firstUnknown(v); u != nil {
				kind := u.kind
				switch f.Name() {
				case "int", "floor", "ceil":
					kind = "int"
				case "abs", "max", "min", "sum", "round":
				default:
					kind = "float"
				}
				return &Unknown{e, kind}, nil
			}
		}
		return starlark.Call(thread, f, args, kwargs)
	})
}

// firstUnknown returns v, or an element of the list v, that is unknown, or nil.
func firstUnknown(v starlark.Value) *Unknown {
	switch v := v.(type) {
	case *Unknown:
		return v
	case *starlark.List:
		for i := range v.Len() {
			if u, ok := v.Index(i).(*Unknown); ok {
				return u
			}
		}
	case starlark.Tuple:
		for _, x := range v {
			if u, ok := x.(*Unknown); ok {
				return u
			}
		}
	}
	return nil
}

// unknownsLike returns unknown elements of a tensor of shape s and dtype dt as nested
// lists.
func unknownsLike(e *Env, dt dtype.DType, s []int) starlark.Value {
	if len(s) == 0 {
		return unknownOf(e, dt)
	}
	list := make([]starlark.Value, s[0])
	for i := range list {
		list[i] = unknownsLike(e, dt, s[1:])
	}
	return starlark.NewList(list)
}

// AppendUnknown appends an unknown number to an encoding, which has nothing else
// that object.Append does not know.
func AppendUnknown(dst []byte, v starlark.Value) ([]byte, error) {
	if u, ok := v.(*Unknown); ok {
		return object.AppendHole(dst, u.kind), nil
	}
	return nil, &object.Error{Value: v}
}
