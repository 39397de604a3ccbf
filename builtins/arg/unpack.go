package arg

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/internal/spell"
	"tpsh/internal/units"
	"tpsh/runtime/op"
)

// Unpack sets the variables of pairs, which alternates the names of parameters
// and pointers to their variables: a starlark.Unpacker, or a *starlark.Value,
// which takes anything.
//
// A name that ends with "?" need not be given, nor need those after it; with
// "??", None counts as not given. "group|parallel_mode" is one parameter of
// two names, the first of which errors use.
func Unpack(fn string, args starlark.Tuple, kwargs []starlark.Tuple, pairs ...any) error {
	params := make([]param, len(pairs)/2)
	for i := range params {
		params[i] = newParam(pairs[2*i].(string), pairs[2*i+1])
		params[i].optional = params[i].optional || i > 0 && params[i-1].optional
	}
	if len(args) > len(params) {
		return TooMany(fn, len(args), len(params))
	}
	for i, v := range args {
		if err := params[i].set(fn, v); err != nil {
			return err
		}
	}
	for _, kw := range kwargs {
		p := find(params, string(kw[0].(starlark.String)))
		if p == nil {
			return Unexpected(fn, string(kw[0].(starlark.String)), allNames(params))
		}
		if p.given {
			return Duplicate(fn, string(kw[0].(starlark.String)))
		}
		if err := p.set(fn, kw[1]); err != nil {
			return err
		}
	}
	for i := range params {
		if p := &params[i]; !p.given && !p.optional {
			return Missing(fn, p.name())
		}
	}
	return nil
}

// A param is one parameter of a call of Unpack.
type param struct {
	names    string // "group|parallel_mode"
	optional bool
	skipNone bool
	to       any
	given    bool
}

func newParam(spec string, to any) param {
	p := param{to: to}
	spec, p.skipNone = strings.CutSuffix(spec, "??")
	spec, p.optional = strings.CutSuffix(spec, "?")
	p.optional = p.optional || p.skipNone
	p.names = spec
	return p
}

// name returns the name of p that errors use.
func (p *param) name() string {
	first, _, _ := strings.Cut(p.names, "|")
	return first
}

func find(params []param, name string) *param {
	for _, name := range append([]string{name}, Synonyms[name]...) {
		for i := range params {
			for n := range strings.SplitSeq(params[i].names, "|") {
				if n == name {
					return &params[i]
				}
			}
		}
	}
	return nil
}

// Synonyms are the names that parameters have here, by those that NumPy and
// others give them.
var Synonyms = map[string][]string{"axis": {"dim", "dims"}, "axes": {"dims", "dim"}, "keepdims": {"keepdim"}, "split_axis": {"split_dim"}, "concat_axis": {"concat_dim"}, "root": {"src", "dst"}, "rcond": {"rtol"}}

// foreign says what to write instead of keyword arguments that functions have
// elsewhere.
var foreign = map[string]string{
	"inplace": "nothing is done in place: x = f(x) keeps the result", "out": "nothing is written into: x = f(y) keeps the result",
	"device": "there is one device: leave it out", "non_blocking": "nothing is copied between devices: leave it out", "pin_memory": "there is one device: leave it out", "memory_format": "tensors have one format: leave it out", "layout": "tensors have one layout: leave it out",
	"ddof": "correction= is what is taken from the number of elements", "end": "print writes a line: join what belongs to it", "retain_graph": "a graph is kept as long as a tensor of it is: leave it out",
}

// Instead says what to do instead of giving the keyword argument called name, which functions have
// elsewhere, or "".
func Instead(name string) string { return foreign[name] }

func allNames(params []param) []string {
	var names []string
	for i := range params {
		names = append(names, strings.Split(params[i].names, "|")...)
	}
	return names
}

// set gives p the value v.
func (p *param) set(fn string, v starlark.Value) error {
	p.given = true
	if p.skipNone && v == starlark.None {
		return nil
	}
	return Set(fn, p.name(), p.to, v)
}

// Set stores v in the variable that to points to, of a parameter of fn.
func Set(fn, name string, to any, v starlark.Value) error {
	switch to := to.(type) {
	case *starlark.Value:
		*to = v
		return nil
	case starlark.Unpacker:
		return In(fn, name, to.Unpack(v))
	}
	panic(fmt.Sprintf("arg: %s: parameter %s has a variable of type %T", fn, name, to))
}

// In gives err, if it is a mismatch that knows no function, the name of the
// function and of the parameter, and returns it.
func In(fn, param string, err error) error {
	if err == nil {
		return nil
	}
	var bad *op.ArgError
	if errors.As(err, &bad) && bad.Func == "" {
		bad.Func, bad.Param = fn, param
	}
	return err
}

// Rename gives err, if it is the mismatch of an operator, or of a call, that a script
// wrote otherwise than by name, the function fn, and returns it.
func Rename(fn string, err error) error {
	var c *CallError
	if errors.As(err, &c) {
		c.Func = fn
	}
	return op.Rename(fn, err)
}

// Bad returns the error of an Unpacker that v does not fit. Unpack adds the
// function and the parameter.
func Bad(v starlark.Value, want, rule string) error {
	return &op.ArgError{Got: Show(v), Want: want, Rule: rule}
}

// BadItem is Bad of v at index i of a list.
func BadItem(v starlark.Value, i int, want string) error {
	return &op.ArgError{Got: fmt.Sprintf("%s at index %d", Show(v), i), Want: want}
}

// A CallError says that the arguments of a call do not fit the parameters of
// the function.
type CallError struct {
	Func string
	Text string
}

func (e *CallError) Error() string { return e.Func + ": " + e.Text }

// Kind returns "argument".
func (e *CallError) Kind() string { return "argument" }

// Function returns the name of the function.
func (e *CallError) Function() string { return e.Func }

// TooMany is the error of a call with got arguments by position, where most
// are allowed.
func TooMany(fn string, got, most int) error {
	if most == 0 {
		return &CallError{fn, fmt.Sprintf("got %s, want none", units.Count(got, "argument"))}
	}
	return &CallError{fn, fmt.Sprintf("got %s, want at most %s", units.Count(got, "argument"), units.Count(most, "argument"))}
}

// Unexpected is the error of a keyword argument that names no parameter of
// those in names.
func Unexpected(fn, name string, names []string) error {
	text := "unexpected keyword argument " + name
	if advice := foreign[name]; advice != "" {
		text += " (" + advice + ")"
	} else if n := spell.Nearest(name, names); n != "" {
		text += fmt.Sprintf(" (did you mean %s?)", n)
	}
	return &CallError{fn, text}
}

// Duplicate is the error of a parameter that is given twice.
func Duplicate(fn, name string) error {
	return &CallError{fn, "got multiple values for parameter " + name}
}

// Missing is the error of a parameter that must be given and is not.
func Missing(fn, name string) error {
	return &CallError{fn, "missing argument for " + name}
}
