package builtins

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/plan"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{
		Name: "memory_trace",
		Doc: "memory_trace(fn) returns the bytes of this rank's tensors by what they are for, while fn() runs: struct(result, now, peak).\n" +
			"now, when fn has ended, and peak, the most of each at any time, are structs of parameters, gradients, optimizer,\n" +
			"activations (what backward keeps), temporaries (of one operation at a time), communication (what is gathered for a\n" +
			"time) and total, whose peak is that of the sum. Parameters are those of modules, of optimizers and of what is computed.\n" +
			"A plan counts the same.\n" +
			">>> w = nn.Linear(4, 2, bias=False)\n" +
			">>> memory_trace(lambda: w(ones(3, 4)).sum().backward()).peak.gradients\n32",
		Fn: memoryTrace,
	}, &Row{
		Name: "assert.memory",
		Doc: "memory(fn, max_bytes, msg=None) calls fn and fails if this rank's tensors take more than max_bytes at any time: a number,\n" +
			"for the total, or a dict by what they are for, as memory_trace has it. It returns what fn returns.\n" +
			">>> assert.memory(lambda: ones(8) + 1, {\"temporaries\": 100})\n[2. 2. 2. 2. 2. 2. 2. 2.]",
		Fn: assertMemory,
	})
}

// memoryNames are what bytes are for, in the order in which they are told.
var memoryNames = []string{"parameters", "gradients", "optimizer", "activations", "temporaries", "communication", "total"}

// memoryParts returns m by memoryNames.
func memoryParts(m plan.Memory) []int64 {
	return []int64{m.Parameters, m.Gradients, m.Optimizer, m.Activations, m.Temporaries, m.Communication, m.Peak}
}

// memoryStruct returns m as a script has it.
func memoryStruct(m plan.Memory) starlark.Value {
	d := starlark.StringDict{}
	for i, n := range memoryParts(m) {
		d[memoryNames[i]] = starlark.MakeInt64(n)
	}
	return starlarkstruct.FromStringDict(starlarkstruct.Default, d)
}

func memoryTrace(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	m, v, err := metered(e, fn.Fn)
	if err != nil {
		return nil, err
	}
	return starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"result": v, "now": memoryStruct(m.Now), "peak": memoryStruct(m.Most)}), nil
}

// metered calls fn and counts what its tensors take.
func metered(e *Env, fn starlark.Callable) (*runtime.Meter, starlark.Value, error) {
	m := e.Runtime.StartMeter()
	defer e.Runtime.StopMeter(m)
	v, err := e.Call(fn)
	m.Find()
	return m, v, err
}

func assertMemory(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn   arg.Callable
		most starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn, "max_bytes", &most); err != nil {
		return nil, err
	}
	limits, err := memoryLimits(b.Name(), most)
	if err != nil {
		return nil, err
	}
	m, v, err := metered(e, fn.Fn)
	if err != nil {
		return nil, err
	}
	parts := memoryParts(m.Most)
	for i, name := range memoryNames {
		if limit, ok := limits[name]; ok && parts[i] > limit {
			return nil, assertionFailed(e, b.Name(), "got %d bytes of %s, want at most %d", parts[i], name, limit)
		}
	}
	return v, nil
}

// memoryLimits returns v, the argument max_bytes of fn: a number, or a dict.
func memoryLimits(fn string, v starlark.Value) (map[string]int64, error) {
	if d, ok := v.(*starlark.Dict); ok {
		limits := map[string]int64{}
		for _, item := range d.Items() {
			name, _ := starlark.AsString(item[0])
			n, err := toBytes(item[1], "a number of bytes from 0")
			if err != nil {
				return nil, arg.In(fn, "max_bytes", err)
			}
			if !slices.Contains(memoryNames, name) {
				return nil, arg.In(fn, "max_bytes", arg.Bad(item[0], "one of "+QuotedNames(memoryNames), ""))
			}
			limits[name] = n
		}
		return limits, nil
	}
	n, err := toBytes(v, "a number of bytes from 0, or a dict of such")
	if err != nil {
		return nil, arg.In(fn, "max_bytes", err)
	}
	return map[string]int64{"total": n}, nil
}

// toBytes returns v, a number of bytes, of which 1e9 is one, too. want says what is right.
func toBytes(v starlark.Value, want string) (int64, error) {
	if f, ok := v.(starlark.Float); ok && f >= 0 && f < 1<<63 {
		return int64(f), nil
	}
	n, err := arg.ToInt(v)
	if err != nil || n < 0 {
		return 0, arg.Bad(v, want, "")
	}
	return int64(n), nil
}

// A Holder is a module or an optimizer: it calls parameter with each parameter that
// it holds, and state with the other tensors.
type Holder interface {
	Holdings(parameter func(path string, x *Tensor), state func(x *Tensor))
}

// Hold notes that the program has h, which is hashable: what it holds is the
// program's memory.
func Hold(e *Env, h Holder) {
	if e.held[h] {
		return
	}
	if e.held == nil {
		e.held = map[Holder]bool{}
	}
	e.held[h] = true
	e.holders = append(e.holders, h)
	e.Runtime.Held()
}

// Enter says that a call of the module h is under way, until the function it returns
// is called. The program has the modules that it calls itself.
func Enter(e *Env, h Holder) (leave func()) {
	if e.inside == 0 {
		Hold(e, h)
	}
	e.inside++
	return func() { e.inside-- }
}

// holdings returns what the program's modules and optimizers hold.
func holdings(e *Env) runtime.Holdings {
	var h runtime.Holdings
	add := func(list *[]*tensor.Tensor, x *Tensor) {
		if x.T != nil {
			*list = append(*list, x.T)
		}
	}
	for _, one := range e.holders {
		one.Holdings(func(_ string, x *Tensor) { add(&h.Parameters, x) }, func(x *Tensor) { add(&h.Optimizer, x) })
	}
	return h
}

// A WholeLens knows the shape of the tensor of which ranks have parts; nil if it does
// not.
type WholeLens interface{ WholeShape() []int }

// wholeParameters returns the elements of each parameter of the program's modules as
// a whole, by path and shape, which are the same on all ranks that have a part of it; of a
// program without modules, of those that its optimizers have, by their order.
func wholeParameters(e *Env) map[string]int64 {
	names, unnamed := map[*Tensor]string{}, map[*Tensor]string{}
	find := func(h Holder) {
		h.Holdings(func(path string, x *Tensor) {
			switch {
			case x.T == nil:
			case path != "":
				longer(names, x, path)
			case unnamed[x] == "":
				unnamed[x] = fmt.Sprint(len(unnamed), " ")
			}
		}, func(*Tensor) {})
	}
	for _, h := range e.holders {
		find(h)
	}
	for h := range e.rooted {
		find(h)
	}
	if len(names) == 0 {
		names = unnamed
	}
	all := map[string]int64{}
	for x, path := range names {
		s := x.T.Shape()
		if l, ok := x.Lens.(WholeLens); ok && l.WholeShape() != nil {
			s = shape.Shape(l.WholeShape())
		}
		all[path+s.String()] = int64(s.Numel())
	}
	return all
}

// Ask notes that the program has asked h for its parameters by name. The layers that
// it calls may be parts of h, by which their parameters are told apart.
func Ask(e *Env, h Holder) {
	if e.rooted == nil {
		e.rooted = map[Holder]bool{}
	}
	e.rooted[h] = true
}
