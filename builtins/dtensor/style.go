package dtensor

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/nn"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
)

// A Style is how a module is parallelized: how its parameters lie, and what is
// done to what goes in and comes out.
type Style struct {
	env  *builtins.Env
	kind *styleKind
	// in and out are functions of a script or builtins, called with a value and
	// the mesh; nil for no preparation, or if layouts are set instead.
	in, out starlark.Callable
	layouts *styleLayouts
	linears *styleLayouts // of SequenceParallel, on Linears; nil for in and out
	dim     int           // of SequenceParallel
	parts   []*Style      // of PrepareModuleInputOutput: the two that it stands for
}

// A styleKind is what a style is called, and what it does by default.
type styleKind struct {
	name    string
	in, out string // the functions that prepare what goes in and comes out
}

// styleLayouts is a style in today's form: placements instead of functions. A
// list has one entry for each argument or result; None leaves it alone.
type styleLayouts struct {
	in, desired     []optPlacements          // what arguments are taken for, and brought to
	kwIn, kwDesired map[string]optPlacements // the same of arguments by name
	out, after      []optPlacements          // what results are taken for, and brought to; out is nil where they are distributed tensors already
	local           bool                     // what comes out is plain
}

var (
	colwiseKind  = &styleKind{"ColwiseParallel", "make_input_replicate_1d", "make_sharded_output_tensor"}
	rowwiseKind  = &styleKind{"RowwiseParallel", "make_input_shard_1d_last_dim", "make_output_tensor"}
	pairwiseKind = &styleKind{"PairwiseParallel", "make_input_replicate_1d", "make_output_tensor"}
	sequenceKind = &styleKind{"SequenceParallel", "make_input_reshard_replicate", "make_output_reshard_tensor"}
	plainKind    = &styleKind{name: "ParallelStyle"}
	prepareIn    = &styleKind{name: "PrepareModuleInput"}
	prepareOut   = &styleKind{name: "PrepareModuleOutput"}
	prepareBoth  = &styleKind{name: "PrepareModuleInputOutput"}
)

var _ starlark.HasAttrs = (*Style)(nil)

func (s *Style) String() string        { return s.kind.name + "()" }
func (s *Style) Type() string          { return s.kind.name }
func (s *Style) Freeze()               {} // it cannot be changed
func (s *Style) Truth() starlark.Bool  { return true }
func (s *Style) Hash() (uint32, error) { return 0, builtins.Unhashable(s) }
func (s *Style) AttrNames() []string   { return builtins.AttrNames("ParallelStyle") }
func (s *Style) Attr(name string) (starlark.Value, error) {
	return s.env.Attr("ParallelStyle", s, name)
}

// function returns f, or None.
func function(f starlark.Callable) (starlark.Value, error) {
	if f == nil {
		return starlark.None, nil
	}
	return f, nil
}

// styleDoc ends the documentation of styles that take functions or placements.
const styleDoc = "prepare_input and prepare_output are functions of a value and the mesh, in PyTorch 2.0's form; None is for none.\n" +
	"input_layouts and output_layouts are placements, in today's form: what plain inputs are taken for, and what the\n" +
	"output is brought to; with use_local_output it is then this rank's block.\n"

func init() {
	builtins.Register(
		&builtins.Row{Name: "ColwiseParallel", Fn: newStyle(colwiseKind),
			Doc: "ColwiseParallel(prepare_input=..., prepare_output=..., input_layouts=None, output_layouts=None, use_local_output=True) returns the style that cuts a Linear by its outputs, or an Embedding by its features.\n" +
				"The input is replicated; the output is this rank's columns. " + styleDoc +
				">>> m = parallelize_module(nn.Linear(4, 6), DeviceMesh(\"cpu\", [0]), ColwiseParallel())\n>>> m.weight.placements\n(Shard(0),)"},
		&builtins.Row{Name: "RowwiseParallel", Fn: newStyle(rowwiseKind),
			Doc: "RowwiseParallel(prepare_input=..., prepare_output=..., input_layouts=None, output_layouts=None, use_local_output=True) returns the style that cuts a Linear by its inputs, or an Embedding by its words.\n" +
				"The input is cut along its last dim, but that of an Embedding is whole; the output is the whole, the sum of what the\nranks compute. " + styleDoc +
				">>> m = parallelize_module(nn.Linear(4, 6), DeviceMesh(\"cpu\", [0]), RowwiseParallel())\n>>> m.weight.placements, m.bias.placements\n((Shard(1),), (Replicate(),))"},
		&builtins.Row{Name: "PairwiseParallel", Fn: newStyle(pairwiseKind),
			Doc: "PairwiseParallel(prepare_input=None, prepare_output=None, input_layouts=None, output_layouts=None, use_local_output=True) returns the style that makes the Linears of a module alternately ColwiseParallel and RowwiseParallel.\n" +
				"One sum for each pair is all that is communicated forward. In attention the heads are divided among the ranks.\n" +
				"None is for the input taken as replicated and the whole output. Functions or placements are as for ColwiseParallel,\n" +
				"of what goes into the first of a pair and comes out of the second.\n" +
				">>> m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))\n>>> y = parallelize_module(m, DeviceMesh(\"cpu\", [0]), PairwiseParallel())(ones(2, 4))\n>>> y.shape\n(2, 4)"},
		&builtins.Row{Name: "SequenceParallel", Fn: newSequence,
			Doc: "SequenceParallel(sequence_dim=1, use_local_output=False, prepare_input=None, prepare_output=None, input_layouts=None, output_layouts=None) returns the style that keeps activations cut along the sequence.\n" +
				"On a module with Linears it is PyTorch 2.0's: as PairwiseParallel, with inputs gathered and outputs cut along dim 0.\n" +
				"On a LayerNorm, RMSNorm or Dropout, or a module of the script's without Linears, it is today's: parameters are\n" +
				"replicated, and the input and the output are cut along sequence_dim. Functions, of a module with Linears, or\n" +
				"placements say otherwise how the input lies and the output is to lie, as for ColwiseParallel.\n" +
				">>> m = parallelize_module(nn.LayerNorm(4), DeviceMesh(\"cpu\", [0]), SequenceParallel())\n>>> m(ones(2, 3, 4)).placements\n(Shard(1),)"},
		&builtins.Row{Name: "ParallelStyle", Fn: newStyle(plainKind),
			Doc: "ParallelStyle(prepare_input=None, prepare_output=None) returns a style that prepares what goes into a module and what comes out, and leaves its parameters as they are.\n" +
				"Both are functions of a value and the mesh. A style of any class keeps them as _prepare_input and _prepare_output.\n" +
				">>> twice = ParallelStyle(prepare_input=lambda x, mesh: x * 2)\n>>> parallelize_module(nn.ReLU(), DeviceMesh(\"cpu\", [0]), twice)(ones(2)).tolist()\n[2.0, 2.0]"},
		&builtins.Row{Name: "ParallelStyle._prepare_input", Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) { return function(x.(*Style).in) },
			Doc: "_prepare_input is the function that prepares what goes into a module, or None if there is none or placements say it.\n" +
				">>> ColwiseParallel()._prepare_input == make_input_replicate_1d\nTrue"},
		&builtins.Row{Name: "ParallelStyle._prepare_output", Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) { return function(x.(*Style).out) },
			Doc: "_prepare_output is the function that prepares what comes out of a module, or None if there is none or placements say it.\n" +
				">>> RowwiseParallel()._prepare_output == make_output_tensor\nTrue"},
		&builtins.Row{Name: "PrepareModuleInput", Fn: newPrepare(prepareIn),
			Doc: "PrepareModuleInput(input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None, desired_input_kwarg_layouts=None, use_local_output=False) returns the style that takes a module's arguments for distributed tensors and redistributes them.\n" +
				"A list of layouts has a placement for each argument by position, no more and no fewer, None for one that is left\n" +
				"alone; a dict one for each argument by name. With use_local_output the module is given this rank's blocks.\n" +
				">>> prep = PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate())\n>>> parallelize_module(nn.ReLU(), DeviceMesh(\"cpu\", [0]), prep)(ones(2)).placements\n(Replicate(),)"},
		&builtins.Row{Name: "PrepareModuleOutput", Fn: newPrepare(prepareOut),
			Doc: "PrepareModuleOutput(output_layouts=None, desired_output_layouts=None, use_local_output=True) returns the style that takes a module's results for distributed tensors and redistributes them.\n" +
				"With use_local_output they are then this rank's blocks.\n" +
				">>> prep = PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate())\n>>> parallelize_module(nn.ReLU(), DeviceMesh(\"cpu\", [0]), prep)(ones(2)).shape\n(2,)"},
		&builtins.Row{Name: "PrepareModuleInputOutput", Fn: newPrepareBoth,
			Doc: "PrepareModuleInputOutput(input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None, desired_input_kwarg_layouts=None, use_local_input=False, output_layouts=None, desired_output_layouts=None, use_local_output=True) returns the style that is PrepareModuleInput and PrepareModuleOutput together.\n" +
				"use_local_input says whether the module is given this rank's blocks.\n" +
				">>> prep = PrepareModuleInputOutput(input_layouts=Shard(0), desired_input_layouts=Replicate(), output_layouts=Replicate(), desired_output_layouts=Shard(0))\n>>> parallelize_module(nn.ReLU(), DeviceMesh(\"cpu\", [0]), prep)(ones(2)).shape\n(2,)"},
	)
}

// newStyle returns the constructor of styles of a kind that takes functions, or
// placements.
func newStyle(kind *styleKind) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			in, out       starlark.Value
			inLay, outLay starlark.Value
			local         = arg.Bool(true)
		)
		params := []any{"prepare_input|_prepare_input?", &in, "prepare_output|_prepare_output?", &out}
		if kind != plainKind {
			params = append(params, "input_layouts?", &inLay, "output_layouts?", &outLay, "use_local_output?", &local)
		}
		if err := arg.Unpack(b.Name(), args, kwargs, params...); err != nil {
			return nil, err
		}
		s := &Style{env: e, kind: kind}
		given := inLay != nil || outLay != nil || !bool(local)
		if given && (in != nil || out != nil) {
			return nil, twoForms(b.Name())
		}
		var err error
		if given {
			s.layouts, err = kind.newLayouts(b.Name(), inLay, outLay, bool(local))
			return s, err
		}
		if s.in, err = preparer(b.Name(), "prepare_input", in, kind.in, kind == pairwiseKind); err != nil {
			return nil, err
		}
		s.out, err = preparer(b.Name(), "prepare_output", out, kind.out, kind == pairwiseKind)
		return s, err
	}
}

// twoForms says that a style is given in the form of PyTorch 2.0 and in today's.
func twoForms(fn string) error {
	return &op.ArgError{Func: fn, Got: "functions and placements", Want: "prepare_input and prepare_output, or input_layouts and output_layouts"}
}

// suiting returns s as it is for m: every rank needs all the numbers that go into an
// Embedding cut by its words, though the inputs of a Linear are cut.
func (s *Style) suiting(m *nn.Module) *Style {
	if s.kind != rowwiseKind || m.Class != nn.EmbeddingClass {
		return s
	}
	own := *s
	if s.layouts != nil {
		layouts := *s.layouts
		layouts.desired = []optPlacements{{V: only(mesh.Replicate()), Set: true}}
		own.layouts = &layouts
	} else if s.in != nil && s.in.Name() == rowwiseKind.in {
		own.in = builtins.FunctionOf(colwiseKind.in)
	}
	return &own
}

// preparer returns the function v that was given for param: where it was not, or
// where it is None and that stands for the default, the builtin called def.
func preparer(fn, param string, v starlark.Value, def string, none bool) (starlark.Callable, error) {
	if (v == nil || v == starlark.None && none) && def != "" {
		return builtins.FunctionOf(def), nil
	}
	if v == nil || v == starlark.None {
		return nil, nil
	}
	f, ok := v.(starlark.Callable)
	if !ok {
		return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "a function of a value and a mesh, or None"}
	}
	return f, nil
}

// newLayouts returns the placements of a style of a kind: what goes in is taken for
// in and brought to where the computation wants it, and what comes out is brought
// to out.
func (kind *styleKind) newLayouts(fn string, in, out starlark.Value, local bool) (l *styleLayouts, err error) {
	takes, want, gives := mesh.Replicate(), mesh.Replicate(), mesh.Replicate()
	switch kind {
	case colwiseKind:
		gives = mesh.Shard(-1)
	case rowwiseKind:
		takes, want = mesh.Shard(-1), mesh.Shard(-1)
	case sequenceKind: // of Linears
		takes, gives = mesh.Shard(0), mesh.Shard(0)
	}
	l = &styleLayouts{local: local, desired: []optPlacements{{V: only(want), Set: true}}}
	if l.in, err = layoutList(fn, "input_layouts", in, takes); err != nil {
		return nil, err
	}
	l.after, err = layoutList(fn, "output_layouts", out, gives)
	return l, err
}

// layoutList returns v, a placement or a list of placements or None, one for each
// value; def where it was not given.
func layoutList(fn, param string, v starlark.Value, def mesh.Placement) ([]optPlacements, error) {
	if v == nil {
		return []optPlacements{{V: only(def), Set: true}}, nil
	}
	var one onePlacement
	if one.Unpack(v) == nil {
		return []optPlacements{{V: only(one.p), Set: true}}, nil
	}
	if s, ok := v.(Spec); ok {
		return []optPlacements{{V: placements{spec: s}, Set: true}}, nil
	}
	var list arg.List
	if list.Unpack(v) != nil {
		return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "a placement, or a list with one for each value"}
	}
	var all []optPlacements
	for i, item := range list {
		var p optPlacements
		if p.Unpack(item) != nil {
			return nil, &op.ArgError{Func: fn, Param: param, Got: fmt.Sprintf("%s at index %d", arg.Show(item), i), Want: "a placement or None"}
		}
		all = append(all, p)
	}
	return all, nil
}

func newSequence(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dim     = arg.Int(1)
		local   arg.Bool
		in, out starlark.Value

		inLay, outLay starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "sequence_dim?", &dim, "use_local_output?", &local,
		"prepare_input|_prepare_input?", &in, "prepare_output|_prepare_output?", &out, "input_layouts?", &inLay, "output_layouts?", &outLay); err != nil {
		return nil, err
	}
	if (inLay != nil || outLay != nil) && (in != nil || out != nil) {
		return nil, twoForms(b.Name())
	}
	s := &Style{env: e, kind: sequenceKind, dim: int(dim)}
	cut := mesh.Shard(int(dim))
	s.layouts = &styleLayouts{desired: []optPlacements{{V: only(cut), Set: true}}, local: bool(local)}
	var err error
	if s.layouts.in, err = layoutList(b.Name(), "input_layouts", inLay, cut); err != nil {
		return nil, err
	}
	if s.layouts.after, err = layoutList(b.Name(), "output_layouts", outLay, cut); err != nil {
		return nil, err
	}
	if inLay != nil || outLay != nil {
		s.linears, err = sequenceKind.newLayouts(b.Name(), inLay, outLay, bool(local))
		return s, err
	}
	if s.in, err = preparer(b.Name(), "prepare_input", in, sequenceKind.in, true); err != nil {
		return nil, err
	}
	s.out, err = preparer(b.Name(), "prepare_output", out, sequenceKind.out, true)
	return s, err
}

// newPrepare returns the constructor of PrepareModuleInput or
// PrepareModuleOutput.
func newPrepare(kind *styleKind) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			from, to starlark.Value
			kw, kwTo starlark.Value = starlark.None, starlark.None
			local                   = arg.Bool(kind == prepareOut)
			s                       = &Style{env: e, kind: kind, layouts: &styleLayouts{}}
			params                  = []any{"output_layouts", &from, "desired_output_layouts", &to, "use_local_output?", &local}
			names                   = [2]string{"output_layouts", "desired_output_layouts"}
		)
		if kind == prepareIn {
			params = []any{"input_layouts?", &from, "desired_input_layouts?", &to, "input_kwarg_layouts?", &kw, "desired_input_kwarg_layouts?", &kwTo, "use_local_output?", &local}
			names = [2]string{"input_layouts", "desired_input_layouts"}
		}
		if err := arg.Unpack(b.Name(), args, kwargs, params...); err != nil {
			return nil, err
		}
		lists := [2][]optPlacements{}
		for i, v := range []starlark.Value{from, to} {
			if v == nil || v == starlark.None {
				continue
			}
			list, err := layoutList(b.Name(), names[i], v, mesh.Replicate())
			if err != nil {
				return nil, err
			}
			lists[i] = list
		}
		if len(lists[0]) != len(lists[1]) {
			return nil, &op.ArgError{Func: b.Name(), Param: names[1], Got: units.Count(len(lists[1]), "placement"), Want: fmt.Sprint(len(lists[0])), Rule: "one for each of " + names[0]}
		}
		s.layouts.local = bool(local)
		if kind == prepareOut {
			s.layouts.out, s.layouts.after = lists[0], lists[1]
			return s, nil
		}
		s.layouts.in, s.layouts.desired = lists[0], lists[1]
		return s, s.layouts.setKwargs(b.Name(), kw, kwTo)
	}
}

// newPrepareBoth makes a PrepareModuleInput and a PrepareModuleOutput of its
// arguments.
func newPrepareBoth(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	names := []string{"input_layouts", "desired_input_layouts", "input_kwarg_layouts", "desired_input_kwarg_layouts", "use_local_input", "output_layouts", "desired_output_layouts", "use_local_output"}
	values, pairs := make([]starlark.Value, len(names)), []any{}
	for i, name := range names {
		pairs = append(pairs, name+"?", &values[i])
	}
	if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
		return nil, err
	}
	both := &Style{env: e, kind: prepareBoth}
	for _, part := range []struct {
		kind     *styleKind
		from, to int
	}{{prepareIn, 0, 5}, {prepareOut, 5, 8}} {
		var own []starlark.Tuple
		for i := part.from; i < part.to; i++ {
			name := names[i]
			if name == "use_local_input" {
				name = "use_local_output" // as PrepareModuleInput calls it
			}
			if v := values[i]; v != nil {
				own = append(own, starlark.Tuple{starlark.String(name), v})
			} else if part.kind == prepareOut && i < 7 {
				own = append(own, starlark.Tuple{starlark.String(name), starlark.None})
			}
		}
		s, err := newPrepare(part.kind)(e, thread, b, nil, own)
		if err != nil {
			return nil, err
		}
		both.parts = append(both.parts, s.(*Style))
	}
	return both, nil
}

// setKwargs takes over the placements of arguments by name.
func (l *styleLayouts) setKwargs(fn string, from, to starlark.Value) error {
	var err error
	if l.kwIn, err = layoutDict(fn, "input_kwarg_layouts", from); err != nil {
		return err
	}
	if l.kwDesired, err = layoutDict(fn, "desired_input_kwarg_layouts", to); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.kwIn)) {
		if _, ok := l.kwDesired[name]; !ok {
			return &op.ArgError{Func: fn, Param: "desired_input_kwarg_layouts", Got: fmt.Sprintf("nothing for %q", name), Want: "the names of input_kwarg_layouts"}
		}
	}
	return nil
}

func layoutDict(fn, param string, v starlark.Value) (map[string]optPlacements, error) {
	all := map[string]optPlacements{}
	if v == starlark.None {
		return all, nil
	}
	d, ok := v.(*starlark.Dict)
	if !ok {
		return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "a dict of names and placements, or None"}
	}
	for _, item := range d.Items() {
		var p optPlacements
		name, ok := starlark.AsString(item[0])
		if !ok || p.Unpack(item[1]) != nil {
			return nil, &op.ArgError{Func: fn, Param: param, Got: fmt.Sprintf("%s: %s", arg.Show(item[0]), arg.Show(item[1])), Want: "a name and a placement"}
		}
		all[name] = p
	}
	return all, nil
}
