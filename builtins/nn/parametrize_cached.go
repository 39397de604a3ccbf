package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A computedCache has what parameters that are computed were when they were first read
// within calls of cached, of which depth have begun and not ended.
type computedCache struct {
	depth  int
	values map[computedKey]starlark.Value
}

type computedKey struct {
	m    *Module
	name string
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.utils.parametrize.cached",
		Doc: "cached(fn, *args, **kwargs) returns fn(*args, **kwargs), within which each parameter that is computed of others is computed once, when it is first read.\n" +
			"An assignment to it has it computed anew; a change of what it is computed of has not.\n" +
			">>> m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))\n" +
			">>> nn.utils.parametrize.cached(lambda: m.weight @ m.weight).shape\n(2, 2)",
		Fn: cached,
	})
}

func cached(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, arg.Missing(b.Name(), "fn")
	}
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args[:1], nil, "fn", &fn); err != nil {
		return nil, err
	}
	cache := builtins.StateOf[computedCache](e)
	cache.depth++
	defer func() {
		if cache.depth--; cache.depth == 0 {
			cache.values = nil
		}
	}()
	return starlark.Call(thread, fn.Fn, args[1:], kwargs)
}

// seen returns the value of a ComputedField as it is read: computed, or as cached has it.
func (m *Module) seen(name string) (starlark.Value, error) {
	cache, key := builtins.StateOf[computedCache](m.env), computedKey{m, name}
	if v, ok := cache.values[key]; ok {
		return v, nil
	}
	v, err := m.computed(name)
	if err == nil && cache.depth > 0 {
		if cache.values == nil {
			cache.values = map[computedKey]starlark.Value{}
		}
		cache.values[key] = v
	}
	return v, err
}

// forget has the field called name computed anew when it is read.
func (m *Module) forget(name string) {
	delete(builtins.StateOf[computedCache](m.env).values, computedKey{m, name})
}
