package operator

import (
	"math/big"
	"strconv"

	"go.starlark.net/starlark"

	"tpsh/builtins/pyfmt"
)

// HasFormat is a value that knows how a format writes it: spec is the text
// behind the : of a field, never "".
type HasFormat interface {
	Format(spec string) (string, error)
}

// FormatValue returns v as the format spec writes it, in Python's format
// mini-language, or as str does if spec is "".
func FormatValue(fn string, v starlark.Value, spec string) (string, error) {
	if spec == "" {
		return str(v), nil
	}
	if f, ok := v.(HasFormat); ok {
		return f.Format(spec)
	}
	s, err := pyfmt.Parse(spec)
	if err != nil {
		return "", errorf(fn, "for the format %q: it has %v, want [[fill]align][sign][#][0][width][grouping][.precision][type]", spec, err)
	}
	text := ""
	switch v := v.(type) {
	case starlark.Bool:
		n := int64(0)
		if v {
			n = 1
		}
		text, err = pyfmt.Int(big.NewInt(n), s)
	case starlark.Int:
		text, err = pyfmt.Int(v.BigInt(), s)
	case starlark.Float:
		text, err = pyfmt.Float(float64(v), s)
	case starlark.String:
		text, err = pyfmt.String(string(v), s)
	default:
		return "", errorf(fn, "for the format %q: got %s, want a number, a text, or a tensor of one element (str(x) makes a text of anything)", spec, describe(v))
	}
	if err != nil {
		return "", errorf(fn, "for the format %q of %s: it has %v", spec, describe(v), err)
	}
	return text, nil
}

// str returns v as print writes it.
func str(v starlark.Value) string {
	if s, ok := starlark.AsString(v); ok {
		return s
	}
	return v.String()
}

// repr returns v as a source writes it; ascii writes other characters as
// escapes.
func repr(v starlark.Value, ascii bool) string {
	if s, ok := v.(starlark.String); ok && ascii {
		return strconv.QuoteToASCII(string(s))
	}
	return v.String()
}

// convert is !r, !s or !a of a field; "" is none of them.
func convert(v starlark.Value, conv string) starlark.Value {
	switch conv {
	case "r":
		return starlark.String(repr(v, false))
	case "a":
		return starlark.String(repr(v, true))
	case "s":
		return starlark.String(str(v))
	}
	return v
}

// field is a field of an f-string: of arguments x, conversion and format, which
// may be left out.
func field(fn string, _ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, spec := args[0], ""
	if len(args) > 1 {
		x = convert(x, string(args[1].(starlark.String)))
	}
	if len(args) > 2 {
		spec = string(args[2].(starlark.String))
	}
	text, err := FormatValue(fn, x, spec)
	return starlark.String(text), err
}

// formatMethod is x.format(...). Of other values than texts it calls the method.
func formatMethod(fn string, t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s, ok := args[0].(starlark.String)
	if ok {
		f := &formatter{fn: fn, thread: t, args: args[1:], kwargs: kwargs}
		text, err := f.format(string(s), 2)
		return starlark.String(text), err
	}
	return method(fn, t, args, kwargs)
}
