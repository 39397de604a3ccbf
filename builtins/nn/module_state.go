package nn

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/spell"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(
		ModuleRow("state_dict", "state_dict() returns the parameters and buffers as a dict of their paths and tensors, in the order of definition.\n"+
			"The tensors share the storage of these and require no grad. Buffers come after the\n"+
			"parameters of their module, unless they are not persistent. A parameter that\n"+
			"stands in several places comes under every path.\n"+
			">>> nn.LayerNorm(2).state_dict()\n"+
			"{\"weight\": [1. 1.], \"bias\": [0. 0.]}", stateDict),
		ModuleRow("load_state_dict", "load_state_dict(state_dict, strict=True) copies the tensors of a dict into the parameters and buffers of those paths, and returns struct(missing_keys, unexpected_keys).\n"+
			"Shapes agree; dtypes are converted. With strict each of these is in the dict and\n"+
			"nothing else. The error lists all that does not fit, and then nothing is copied.\n"+
			">>> m = nn.LayerNorm(2)\n"+
			">>> r = m.load_state_dict({\"weight\": tensor([3.0, 4.0])}, strict=False)\n"+
			">>> m.weight.tolist(), r.missing_keys\n([3.0, 4.0], [\"bias\"])", loadStateDict),
	)
}

// entries returns the parameters and persistent buffers of m and of the modules
// below it with their paths, in every place where one stands.
func (m *Module) entries() []NamedTensor {
	var list []NamedTensor
	m.walk("", func(path string, m *Module) {
		list = append(append(list, m.Own(path)...), m.ownBuffers(path, false)...)
	})
	return list
}

func stateDict(e *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(fn, args, kwargs); err != nil {
		return nil, err
	}
	d := starlark.NewDict(len(m.Fields))
	for _, p := range m.entries() {
		t, err := storeOf(p.X).State(p.X)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(starlark.String(p.Path), e.Wrap(t)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// A loading is a call of load_state_dict.
type loading struct {
	fn         string
	e          *builtins.Env
	into       []NamedTensor
	from       map[string]starlark.Value
	missing    []string // parameters that are not in the dict
	unexpected []string // keys that name no parameter
	bad        []string // what else does not fit
}

func loadStateDict(e *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dict   *starlark.Dict
		state  starlark.Value
		strict = arg.Bool(true)
	)
	if err := arg.Unpack(fn, args, kwargs, "state_dict", &state, "strict?", &strict); err != nil {
		return nil, err
	}
	dict, ok := state.(*starlark.Dict)
	if !ok {
		return nil, arg.In(fn, "state_dict", arg.Bad(state, "a dict of paths and tensors", "state_dict() gives one"))
	}
	l := &loading{fn: fn, e: e, into: m.entries(), from: map[string]starlark.Value{}}
	if err := l.compare(dict); err != nil {
		return nil, err
	}
	if err := l.refusal(m, bool(strict)); err != nil {
		return nil, err
	}
	if err := l.copy(); err != nil {
		return nil, err
	}
	return builtins.NewStruct(starlark.StringDict{
		"missing_keys":    builtins.StringList(l.missing),
		"unexpected_keys": builtins.StringList(l.unexpected),
	}), nil
}

// compare notes how dict and the parameters differ.
func (l *loading) compare(dict *starlark.Dict) error {
	expected := map[string]bool{}
	for _, p := range l.into {
		expected[p.Path] = true
		v, found, err := dict.Get(starlark.String(p.Path))
		switch {
		case err != nil:
			return err
		case !found:
			l.missing = append(l.missing, p.Path)
			continue
		}
		l.from[p.Path] = v
		if err := l.compareOne(p, v); err != nil {
			return err
		}
	}
	for key := range starlark.Elements(dict) {
		name, ok := starlark.AsString(key)
		if !ok {
			l.bad = append(l.bad, "the key "+arg.Show(key))
		} else if !expected[name] {
			l.unexpected = append(l.unexpected, name)
		}
	}
	return nil
}

// compareOne notes how v differs from the parameter p.
func (l *loading) compareOne(p NamedTensor, v starlark.Value) error {
	to, want, err := storeOf(p.X).Stored(p.X)
	if err != nil {
		return err
	}
	if err := builtins.CheckFrozen(l.fn, to); err != nil {
		return err
	}
	x, ok := v.(*builtins.Tensor)
	if !ok {
		l.bad = append(l.bad, fmt.Sprintf("%s for %q, which is no tensor", arg.Show(v), p.Path))
		return nil
	}
	from, err := x.Tensor()
	if err != nil {
		return err
	}
	if !from.Shape().Equal(want) {
		l.bad = append(l.bad, fmt.Sprintf("%s for %q, which has shape %v", op.Describe(from), p.Path, want))
	}
	return nil
}

// refusal returns the error of a dict that does not fit m.
func (l *loading) refusal(m *Module, strict bool) error {
	var got []string
	rule := ""
	if strict && len(l.missing) > 0 {
		got = append(got, "no "+builtins.QuotedNames(l.missing))
	}
	if strict && len(l.unexpected) > 0 {
		got = append(got, "unexpected "+builtins.QuotedNames(l.unexpected))
		if n := spell.Nearest(l.unexpected[0], l.missing); n != "" {
			rule = fmt.Sprintf("did you mean %q?", n)
		}
	}
	got = append(got, l.bad...)
	if len(got) == 0 {
		return nil
	}
	return &op.ArgError{Func: l.fn, Param: "state_dict", Got: strings.Join(got, "; "), Want: "a tensor for each parameter of " + m.Describe(), Rule: rule}
}

// copy copies the tensors into the parameters.
func (l *loading) copy() error {
	defer l.e.Runtime.Tape.SetEnabled(false)()
	for _, p := range l.into {
		v, ok := l.from[p.Path]
		if !ok {
			continue
		}
		if err := storeOf(p.X).Load(l.fn, p.X, p.X, v.(*builtins.Tensor)); err != nil {
			return arg.Rename(l.fn, err)
		}
	}
	return nil
}

// The operators that fill a tensor, looked up once.
var (
	copyOp = op.Lookup("copy_")
	zeroOp = op.Lookup("zero_")
)

// copyInto stores y in x.
func copyInto(e *builtins.Env, x, y *builtins.Tensor) error {
	to, err := x.Tensor()
	if err != nil {
		return err
	}
	from, err := y.Tensor()
	if err != nil {
		return err
	}
	_, err = e.Runtime.Apply(copyOp, []*tensor.Tensor{to, from}, nil)
	return err
}

// zero fills t with zeros, unrecorded.
func zero(e *builtins.Env, t *tensor.Tensor) error {
	defer e.Runtime.Tape.SetEnabled(false)()
	_, err := e.Runtime.Apply(zeroOp, []*tensor.Tensor{t}, nil)
	return err
}
