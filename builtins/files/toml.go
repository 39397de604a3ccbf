package files

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pelletier/go-toml/v2"
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

func init() {
	builtins.Register(
		&builtins.Row{Name: "toml", Namespace: true, Doc: "toml is the module of TOML, as json is of JSON.\n" +
			">>> toml.decode(\"lr = 0.1\")\n{\"lr\": 0.1}"},
		&builtins.Row{
			Name: "toml.decode",
			Doc: "toml.decode(text) returns the dict that a text in TOML 1.0 describes.\n" +
				"Its keys are sorted. Dates and times are strings, as the text has them in RFC 3339.\n" +
				">>> toml.decode(\"[model]\\nlayers = 2\\nsizes = [4, 8]\")\n{\"model\": {\"layers\": 2, \"sizes\": [4, 8]}}",
			Fn: decodeTOML,
		},
	)
}

func decodeTOML(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "text", &text); err != nil {
		return nil, err
	}
	var all map[string]any
	err := orPanic(func() error { return toml.Unmarshal([]byte(text), &all) })
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		err = fmt.Errorf("line %d, column %d: %s", line, column, bad.Error()[len("toml: "):])
	}
	if err != nil {
		return nil, badText(b.Name(), string(text), "TOML", err)
	}
	return fromTOML(all)
}

// badText is the error that text, an argument of fn, is not of a format.
func badText(fn, text, format string, err error) error {
	const most = 40
	if len(text) > most {
		text = text[:most] + "..."
	}
	return &op.ArgError{Func: fn, Param: "text", Got: starlark.String(text).String(), Want: "a text in " + format, Rule: err.Error()}
}

// orPanic returns the error of f or, if f panics, that as an error: a library
// that reads foreign text may have defects.
func orPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	return f()
}

// fromTOML returns a value of a text in TOML.
func fromTOML(x any) (starlark.Value, error) {
	switch x := x.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		d := starlark.NewDict(len(keys))
		for _, k := range keys {
			v, err := fromTOML(x[k])
			if err != nil {
				return nil, err
			}
			if err := d.SetKey(starlark.String(k), v); err != nil {
				return nil, err
			}
		}
		return d, nil
	case []any:
		list := make([]starlark.Value, len(x))
		for i, each := range x {
			var err error
			if list[i], err = fromTOML(each); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(list), nil
	case string:
		return starlark.String(x), nil
	case int64:
		return starlark.MakeInt64(x), nil
	case float64:
		return starlark.Float(x), nil
	case bool:
		return starlark.Bool(x), nil
	case time.Time:
		return starlark.String(x.Format(time.RFC3339Nano)), nil
	case fmt.Stringer: // toml.LocalDate, LocalTime, LocalDateTime
		return starlark.String(x.String()), nil
	}
	return nil, fmt.Errorf("toml.decode: got a value of the type %T, which is not known", x)
}
