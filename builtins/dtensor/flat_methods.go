package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// newFlatTensor carries out the constructor of flat tensors, or with param that of
// flat parameters, whose data may be None.
func newFlatTensor(param bool) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var data starlark.Value = starlark.None
		requires, name := arg.Bool(param), "data"
		if param {
			name = "data?"
		}
		if err := arg.Unpack(b.Name(), args, kwargs, name, &data, "requires_grad?", &requires); err != nil {
			return nil, err
		}
		v := &flatView{param: param}
		if param && data == starlark.None {
			return newFlat(e, b.Name(), v, nil, bool(requires))
		}
		t, err := e.PlainArg(b.Name(), "data", data)
		if err != nil {
			return nil, err
		}
		if from := flatOf(data.(*builtins.Tensor)); from != nil {
			t = from.local
			v.spec, v.pg, v.group = from.spec, from.pg, from.group
		}
		if t != nil && t.Ndim() != 1 {
			return nil, &op.ArgError{Func: b.Name(), Param: "data", Got: op.Describe(t), Want: "a tensor of one dim", Rule: b.Name() + ".shard(t) cuts one of any shape"}
		}
		return newFlat(e, b.Name(), v, t, bool(requires))
	}
}

// A flatSharding is the arguments of shard.
type flatSharding struct {
	fn          string
	data        starlark.Value
	spec        arg.Opt[flatSpecArg, *flatSpecArg]
	pg          starlark.Value
	synchronize arg.Bool
	requires    arg.Opt[arg.Bool, *arg.Bool]
}

// shardFlat carries out shard of flat tensors, or of flat parameters.
func flatShard(param bool) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		s := flatSharding{fn: b.Name(), synchronize: true}
		var device starlark.Value = starlark.None
		if err := arg.Unpack(s.fn, args, kwargs, "tensor", &s.data, "sharding_spec?", &s.spec, "process_group?", &s.pg,
			"synchronize?", &s.synchronize, "device?", &device, "requires_grad?", &s.requires); err != nil {
			return nil, err
		}
		if err := builtins.CheckDevice(s.fn, device); err != nil {
			return nil, err
		}
		return shardFlat(e, &s, param)
	}
}

// shardFlat returns this rank's part of the tensor that s has.
func shardFlat(e *builtins.Env, s *flatSharding, param bool) (starlark.Value, error) {
	t, err := e.PlainArg(s.fn, "tensor", s.data)
	if err != nil {
		return nil, err
	}
	g, err := flatGroup(e, s.fn, s.pg)
	if err != nil {
		return nil, err
	}
	spec := s.spec.V.FlatShardingSpec
	if !s.spec.Set {
		spec, err = flatSpec(e, s.fn, t.Shape(), mesh.EvenRanges(t.Numel(), g.Size()))
	} else if err = mustHaveShape(s.fn, "tensor", t, spec.f.Shape(), "the shape of sharding_spec"); err == nil {
		err = spec.fits(s.fn, "sharding_spec", g)
	}
	if err != nil {
		return nil, err
	}
	requires := t.RequiresGrad()
	if s.requires.Set {
		requires = bool(s.requires.V)
	}
	defer e.Runtime.Tape.SetEnabled(false)()
	if s.synchronize {
		if t, err = flatFromFirst(e, g, t); err != nil {
			return nil, err
		}
	}
	v := &flatView{param: param, spec: spec, pg: s.pg, group: g}
	part, err := flatPart(e, v, t.Detach(), true)
	if err != nil {
		return nil, err
	}
	return newFlat(e, s.fn, v, part, requires)
}

// flatFromFirst returns what the first member of g has in t, and stores it in t
// where that may be written.
func flatFromFirst(e *builtins.Env, g *runtime.Group, t *tensor.Tensor) (*tensor.Tensor, error) {
	first, err := e.Runtime.Run(g, runtime.Collective{Op: "broadcast"}, t.Detach())
	if err != nil || g.Rank() == 0 || !t.Contiguous() || t.Buffer().Frozen() {
		return first, err
	}
	_, err = e.Runtime.Do("copy_", []*tensor.Tensor{t, first})
	return first, err
}

// flatGather carries out gather.
func flatGather(x *builtins.Tensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dt    arg.OptDType
		first arg.Bool
	)
	if err := arg.Unpack(fn, args, kwargs, "dtype?", &dt, "rank0_only?", &first); err != nil {
		return nil, err
	}
	if flatOf(x).whole != nil {
		return x.Env.Wrap(flatOf(x).whole), nil
	}
	y, err := flatGathered(x, fn, flatOf(x).local, dt, bool(first))
	if err != nil {
		return nil, err
	}
	return x.Env.Wrap(y), nil
}

// flatGathered returns the whole of x, of which this rank has t: on every rank of
// the group, or on the first alone.
func flatGathered(x *builtins.Tensor, fn string, t *tensor.Tensor, dt arg.OptDType, first bool) (*tensor.Tensor, error) {
	if err := flatKnown(x, fn); err != nil {
		return nil, err
	}
	t, err := flatCast(x, fn, t, dt)
	if err != nil {
		return nil, err
	}
	v := flatOf(x)
	if first {
		return x.Env.Runtime.CollectFlat(v.group, v.spec.f, t)
	}
	return x.Env.Runtime.GatherFlat(v.group, v.spec.f, t)
}

// flatUnshard carries out unshard_.
func flatUnshard(x *builtins.Tensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data  starlark.Value = starlark.None
		dt    arg.OptDType
		first arg.Bool
	)
	if err := arg.Unpack(fn, args, kwargs, "unsharded_data?", &data, "dtype?", &dt, "rank0_only?", &first); err != nil {
		return nil, err
	}
	if err := flatMayChange(x, fn); err != nil {
		return nil, err
	}
	if err := flatKnown(x, fn); err != nil {
		return nil, err
	}
	if data == starlark.None {
		if flatOf(x).whole != nil {
			return starlark.None, nil
		}
		y, err := flatGathered(x, fn, flatOf(x).local.Detach(), dt, bool(first))
		if err != nil {
			return nil, err
		}
		flatAttach(x, y)
		return starlark.None, nil
	}
	y, err := flatGiven(x, fn, data, dt, bool(first))
	if err != nil {
		return nil, err
	}
	flatAttach(x, y)
	return starlark.None, nil
}

// flatGiven returns data, which a script has for the whole of x, in the shape of
// that; with first as it is, but on the first rank of the group.
func flatGiven(x *builtins.Tensor, fn string, data starlark.Value, dt arg.OptDType, first bool) (*tensor.Tensor, error) {
	t, err := x.Env.PlainArg(fn, "unsharded_data", data)
	if err != nil {
		return nil, err
	}
	defer x.Env.Runtime.Tape.SetEnabled(false)()
	if t, err = flatCast(x, fn, t.Detach(), dt); err != nil || first && flatOf(x).group.Rank() != 0 {
		return t, err
	}
	s := flatOf(x).spec.f.Shape()
	if t.Numel() != flatOf(x).spec.numel() {
		return nil, mustHaveShape(fn, "unsharded_data", t, s, "that of the whole")
	}
	return x.Env.Runtime.Do("reshape", []*tensor.Tensor{t}, op.IntsN(s...))
}

// flatReshard carries out reshard_.
func flatReshard(x *builtins.Tensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var back arg.Bool
	if err := arg.Unpack(fn, args, kwargs, "writeback?", &back); err != nil {
		return nil, err
	}
	if err := flatMayChange(x, fn); err != nil {
		return nil, err
	}
	v := flatOf(x)
	if v.whole == nil {
		return starlark.None, nil
	}
	var part *tensor.Tensor
	if back {
		var err error
		if part, err = flatWritten(x, fn); err != nil {
			return nil, err
		}
	}
	if part != nil {
		flatReplace(x, part)
	}
	v.whole, x.T = nil, v.local
	return starlark.None, nil
}

// flatWritten returns what this rank stores of the whole that the first rank of
// the group has, in the dtype of its data.
func flatWritten(x *builtins.Tensor, fn string) (*tensor.Tensor, error) {
	v, e := flatOf(x), x.Env
	defer e.Runtime.Tape.SetEnabled(false)()
	whole := v.whole.Detach()
	if whole.Numel() == 0 && v.spec.numel() > 0 {
		room, err := tensor.New(e.Runtime.Ops().Alloc, whole.DType(), v.spec.f.Shape())
		if err != nil {
			return nil, &op.ResourceError{Func: fn, Err: err}
		}
		whole = room
	}
	if err := mustHaveShape(fn, "", whole, v.spec.f.Shape(), "that of the whole"); err != nil {
		return nil, err
	}
	first, err := e.Runtime.Run(v.group, runtime.Collective{Op: "broadcast"}, whole)
	if err != nil {
		return nil, err
	}
	part, err := flatPart(e, v, first, true)
	if err != nil {
		return nil, err
	}
	return toDType(e, part, v.local.DType())
}

// flatWrap carries out wrap.
func flatWrap(x *builtins.Tensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data starlark.Value
		on   arg.Opt[arg.Bool, *arg.Bool]
	)
	if err := arg.Unpack(fn, args, kwargs, "tensor", &data, "requires_grad?", &on); err != nil {
		return nil, err
	}
	if err := flatKnown(x, fn); err != nil {
		return nil, err
	}
	t, err := x.Env.PlainArg(fn, "tensor", data)
	if err != nil {
		return nil, err
	}
	s, rule := flatOf(x).local.Shape(), "that of this rank's data: it is sharded"
	if flatOf(x).whole != nil {
		s, rule = flatOf(x).spec.f.Shape(), "that of the whole: it is unsharded"
	}
	if err := mustHaveShape(fn, "tensor", t, s, rule); err != nil {
		return nil, err
	}
	requires := t.RequiresGrad()
	if on.Set {
		requires = bool(on.V)
	}
	return flatLabel(x, fn, t, requires)
}

// flatChunks carries out chunk_unsharded.
func flatChunks(x *builtins.Tensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data starlark.Value
		pad  arg.Bool
	)
	if err := arg.Unpack(fn, args, kwargs, "tensor", &data, "pad?", &pad); err != nil {
		return nil, err
	}
	t, err := flatWholeArg(x, fn, data)
	if err != nil {
		return nil, err
	}
	f, most := flatOf(x).spec.f, 0
	for _, rank := range f.Ranks() {
		most = max(most, f.Numel(rank))
	}
	list := make([]starlark.Value, len(f.Ranks()))
	for i, rank := range f.Ranks() {
		part, err := x.Env.Runtime.Shard.FlatPart(f, rank, t)
		if err == nil && bool(pad) && part.Numel() < most {
			part, err = x.Env.Runtime.Do("pad", []*tensor.Tensor{part}, op.IntsN(0, most-part.Numel()), op.Str1("constant"), op.Float1(0))
		}
		if err != nil {
			return nil, arg.Rename(fn, err)
		}
		list[i] = x.Env.Wrap(part)
	}
	return starlark.NewList(list), nil
}

// flatChunk carries out sharded_chunk.
func flatChunk(x *builtins.Tensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var data starlark.Value
	if err := arg.Unpack(fn, args, kwargs, "tensor", &data); err != nil {
		return nil, err
	}
	t, err := flatWholeArg(x, fn, data)
	if err != nil {
		return nil, err
	}
	part, err := flatPart(x.Env, flatOf(x), t, false)
	if err != nil {
		return nil, err
	}
	return x.Env.Wrap(part), nil
}

// flatWholeArg returns v, the argument tensor of fn, which has the shape of the
// whole of x.
func flatWholeArg(x *builtins.Tensor, fn string, v starlark.Value) (*tensor.Tensor, error) {
	if err := flatKnown(x, fn); err != nil {
		return nil, err
	}
	t, err := x.Env.PlainArg(fn, "tensor", v)
	if err != nil {
		return nil, err
	}
	return t, mustHaveShape(fn, "tensor", t, flatOf(x).spec.f.Shape(), "that of the whole")
}

// markAsSharded carries out mark_as_sharded.
func markAsSharded(x *builtins.Tensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		spec flatSpecArg
		pg   starlark.Value
	)
	if err := arg.Unpack(fn, args, kwargs, "sharding_spec", &spec, "process_group?", &pg); err != nil {
		return nil, err
	}
	if err := flatMayChange(x, fn); err != nil {
		return nil, err
	}
	return starlark.None, flatMark(x, fn, "sharding_spec", spec.FlatShardingSpec, pg)
}

// setShardedData makes v this rank's data of x.
func setShardedData(x *builtins.Tensor, fn string, v starlark.Value) error {
	if err := flatMayChange(x, fn); err != nil {
		return err
	}
	t, err := x.Env.PlainArg(fn, "", v)
	if err != nil {
		return err
	}
	if t.Ndim() != 1 {
		return &op.ArgError{Func: fn, Got: op.Describe(t), Want: "a tensor of one dim"}
	}
	if flatOf(x).spec != nil {
		if err := mustHaveShape(fn, "", t, flatOf(x).local.Shape(), "that of this rank's data"); err != nil {
			return err
		}
	}
	if x.T.RequiresGrad() && !t.DType().IsFloat() {
		return &op.ArgError{Func: fn, Got: op.Describe(t), Want: "a float tensor", Rule: "it requires grad"}
	}
	flatReplace(x, t)
	return nil
}
