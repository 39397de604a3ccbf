package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/lang"
	notation "tpsh/lang/operator"
)

// A conversion makes rows of flags and measures of rows with other columns. Its script
// defines row(r): r is a dict of the columns, whose values are ints, floats, strings,
// or None where a field is empty. row returns a dict of flags and measures, or None
// for a row that is to be left out.
type conversion struct {
	file   string
	row    starlark.Callable
	thread *starlark.Thread
}

// convertSteps is how many steps a conversion may take for a file: more is a loop
// without end.
const convertSteps = 100_000_000

// readConversion reads the script of a conversion; "" is none.
func readConversion(file string) (*conversion, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, unread(file, err)
	}
	c := &conversion{file: file, thread: &starlark.Thread{Name: file}}
	c.thread.SetMaxExecutionSteps(convertSteps)
	names := starlark.StringDict{"math": notation.Math, "struct": starlark.NewBuiltin("struct", starlarkstruct.Make)}
	globals, err := starlark.ExecFileOptions(lang.FileOptions, c.thread, file, lang.WithoutMark(string(text)), names)
	if err != nil {
		return nil, traced(err)
	}
	var ok bool
	if c.row, ok = globals["row"].(starlark.Callable); !ok {
		return nil, fmt.Errorf("%s: got no function row(r), want one that returns a dict of flags and measures", file)
	}
	return c, nil
}

// traced returns err with the lines at which it was raised.
func traced(err error) error {
	var e *starlark.EvalError
	if errors.As(err, &e) {
		return errors.New(strings.TrimSpace(e.Backtrace()))
	}
	return err
}

// convert returns the columns and fields that the script makes of a row; no columns
// say that the row is left out.
func (c *conversion) convert(header, fields []string) (columns, values []string, err error) {
	r := starlark.NewDict(len(header))
	for i, h := range header {
		r.SetKey(starlark.String(h), fieldValue(fields[i]))
	}
	v, err := starlark.Call(c.thread, c.row, starlark.Tuple{r}, nil)
	if err != nil {
		return nil, nil, traced(err)
	}
	if v == starlark.None {
		return nil, nil, nil
	}
	made, ok := v.(*starlark.Dict)
	if !ok {
		return nil, nil, fmt.Errorf("%s: row returned %s, want a dict of flags and measures, or None", c.file, v.Type())
	}
	for _, item := range made.Items() {
		name, ok := starlark.AsString(item[0])
		if !ok {
			return nil, nil, fmt.Errorf("%s: row returned a dict with the key %s, want the name of a flag or a measure", c.file, item[0])
		}
		text, err := fieldText(item[1])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: row returned for %q %w", c.file, name, err)
		}
		columns, values = append(columns, name), append(values, text)
	}
	return columns, values, nil
}

// fieldValue returns a field of a file as a script has it.
func fieldValue(text string) starlark.Value {
	if text = strings.TrimSpace(text); missing(text) {
		return starlark.None
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return starlark.MakeInt64(n)
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return starlark.Float(v)
	}
	return starlark.String(text)
}

// fieldText returns what a script gives for a field as a file has it.
func fieldText(v starlark.Value) (string, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return "", nil
	case starlark.Bool:
		return strconv.FormatBool(bool(v)), nil
	case starlark.Int:
		return v.String(), nil
	case starlark.Float:
		return strconv.FormatFloat(float64(v), 'g', -1, 64), nil
	case starlark.String:
		return string(v), nil
	}
	return "", fmt.Errorf("%s %s, want a number, a string, a bool or None", v.Type(), v)
}
