package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

func init() {
	Register(&Row{
		Name: "manual_seed",
		Doc: "manual_seed(seed) sets the seed of random numbers, an int, and the number of draws to 0.\n" +
			">>> manual_seed(7)\n" +
			">>> x = randn(3)\n" +
			">>> manual_seed(7)\n" +
			">>> randn(3).equal(x)\nTrue",
		Fn: manualSeed,
	}, &Row{
		Name: "rng_state",
		Doc: "rng_state() returns the state of random numbers: a dict of the seed and of the draws since it was set.\n" +
			">>> manual_seed(7)\n" +
			">>> x = rand(2)\n" +
			">>> rng_state()\n{\"seed\": 7, \"draws\": 1}",
		Fn: rngState,
	}, &Row{
		Name: "set_rng_state",
		Doc: "set_rng_state(state) restores what rng_state returned.\n" +
			">>> s = rng_state()\n" +
			">>> x = rand(2)\n" +
			">>> set_rng_state(s)\n" +
			">>> rand(2).equal(x)\nTrue",
		Fn: setRNGState,
	}, &Row{
		Name: "with_seed",
		Doc: "with_seed(seed, fn) returns fn(), run under a seed of its own from draw 0; then seed and draws are what they were.\n" +
			"Ranks that are to draw different numbers use with_seed(base + rank(), fn).\n" +
			">>> with_seed(1, lambda: rand(2)).equal(with_seed(1, lambda: rand(2)))\nTrue",
		Fn: withSeed,
	})
}

// A seed is an argument that is a seed: an int of 64 bits, signed or not.
type seed uint64

// Unpack implements starlark.Unpacker.
func (s *seed) Unpack(v starlark.Value) error {
	if x, ok := v.(*Varying); ok { // the tensors of a plan have no elements, so any rank's seed will do
		x.env.seedVaries = true
		v = x.own
	}
	i, ok := v.(starlark.Int)
	if !ok {
		return arg.Bad(v, "an int", "")
	}
	if u, ok := i.Uint64(); ok {
		*s = seed(u)
		return nil
	}
	n, ok := i.Int64()
	if !ok {
		return arg.Bad(v, "an int of 64 bits", "")
	}
	*s = seed(n)
	return nil
}

func manualSeed(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var s seed
	if err := arg.Unpack(b.Name(), args, kwargs, "seed|n", &s); err != nil {
		return nil, err
	}
	e.Runtime.ManualSeed(uint64(s))
	return starlark.None, nil
}

func rngState(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	if e.seedVaries {
		e.Runtime.ID()
	}
	s, draws := e.Runtime.RNG()
	d := starlark.NewDict(2)
	d.SetKey(starlark.String("seed"), starlark.MakeUint64(s))
	d.SetKey(starlark.String("draws"), starlark.MakeUint64(draws))
	return d, nil
}

func setRNGState(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "state|s", &v); err != nil {
		return nil, err
	}
	bad := &op.ArgError{Func: b.Name(), Param: "state", Got: arg.Show(v), Want: `what rng_state returned: {"seed": int, "draws": int}`}
	m, ok := v.(starlark.Mapping)
	if !ok {
		return nil, bad
	}
	var values [2]seed
	for i, key := range []string{"seed", "draws"} {
		field, found, err := m.Get(starlark.String(key))
		if err != nil || !found || values[i].Unpack(field) != nil {
			return nil, bad
		}
		if n := field.(starlark.Int); key == "draws" && n.Sign() < 0 {
			return nil, bad
		}
	}
	e.Runtime.SetRNG(uint64(values[0]), uint64(values[1]))
	return starlark.None, nil
}

func withSeed(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		s  seed
		fn arg.Callable
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "seed|n", &s, "fn", &fn); err != nil {
		return nil, err
	}
	was, draws := e.Runtime.RNG()
	defer e.Runtime.SetRNG(was, draws)
	e.Runtime.ManualSeed(uint64(s))
	return e.Call(fn.Fn)
}
