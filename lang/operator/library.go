package operator

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// Library holds the hidden functions and the value of "...", by the names that
// core trees use. Its values are immutable.
var Library = starlark.StringDict{
	source.MatMul:        function("@", binary(matMul)),
	source.Power:         function("**", binary(Pow)),
	source.Modulo:        function("%", modulo),
	source.Format:        function("f-string", field),
	source.FormatMethod:  function("format", formatMethod),
	source.Times:         function("*", times),
	source.ReplaceMethod: function("replace", replaceMethod),
	source.Append:        function("append", addOne),
	source.Insert:        function("insert", addOne),
	source.Add:           function("add", addOne),
	source.SetDefault:    function("setdefault", addOne),
	source.Pace:          function("<for>", pace),
	source.Elements:      function("<for>", listed),
	source.Grow:          function("+", grow),
	source.Union:         function("|", union),
	source.GrowBy:        function("+", extend),
	source.Extend:        function("extend", extend),
	source.Update:        function("update", grow),
	source.Join:          function("join", joinedTexts),
	source.Split:         function("split", splitText),
	source.Texts:         function("f-string", texts),
	source.Slice:         function("slice", newSlice),
	source.SetSlice:      function("x[a:b] = v", setSlice),
	source.Sliced:        function("x[a:b] = v", sliced),
	source.Spread:        function("*", spread),
	source.SpreadTuple:   function("*", spreadTuple),
	source.JoinDicts:     function("**", joinDicts),
	source.JoinKeywords:  function("**", joinKeywords),
	source.MakeSet:       function("set", makeSet),
	source.Unpack:        function("=", unpack),
	source.Repeat:        function("=", repeat),
	source.Ellipsis:      Ellipsis,
}

func function(name string, f func(fn string, t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return f(b.Name(), t, args, kwargs)
	})
}

// binary returns the function of an operator between two values.
func binary(f func(x, y starlark.Value) (starlark.Value, error)) func(string, *starlark.Thread, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return func(_ string, _ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return f(args[0], args[1])
	}
}

// An Error is a mistake in the operands of a notation.
type Error struct {
	Func string // the notation
	Text string // the value that it got, and the kind that it wants
}

func (e *Error) Error() string { return e.Func + ": " + e.Text }

// Kind returns "argument".
func (e *Error) Kind() string { return "argument" }

// Function returns the notation.
func (e *Error) Function() string { return e.Func }

func errorf(fn, format string, args ...any) error { return &Error{fn, fmt.Sprintf(format, args...)} }

// HasMatMul is a value that knows x @ y.
type HasMatMul interface {
	MatMul(y starlark.Value, side starlark.Side) (starlark.Value, error)
}

// HasPower is a value that knows x ** y.
type HasPower interface {
	Power(y starlark.Value, side starlark.Side) (starlark.Value, error)
}

func matMul(x, y starlark.Value) (starlark.Value, error) {
	if a, ok := x.(HasMatMul); ok {
		if v, err := a.MatMul(y, starlark.Left); v != nil || err != nil {
			return v, err
		}
	}
	if b, ok := y.(HasMatMul); ok {
		if v, err := b.MatMul(x, starlark.Right); v != nil || err != nil {
			return v, err
		}
	}
	return nil, errorf("@", "got %s and %s, want two tensors", describe(x), describe(y))
}

// modulo is x % y, where text is formatted as in Python.
func modulo(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if s, ok := args[0].(starlark.String); ok {
		text, err := printf(t, string(s), args[1])
		return starlark.String(text), err
	}
	return starlark.Binary(syntax.PERCENT, args[0], args[1])
}

// describe returns a value as errors name it: numbers by their value.
func describe(v starlark.Value) string {
	switch v.(type) {
	case starlark.Int, starlark.Float, starlark.Bool, starlark.NoneType:
		return v.String()
	}
	return "a " + v.Type()
}
