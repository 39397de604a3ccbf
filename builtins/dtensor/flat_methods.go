package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// flatGather carries out gather.
func flatGather(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dt    arg.OptDType
		first arg.Bool
	)
	if err := arg.Unpack(fn, args, kwargs, "dtype?", &dt, "rank0_only?", &first); err != nil {
		return nil, err
	}
	if x.whole != nil {
		return x.Env.Wrap(x.whole), nil
	}
	y, err := x.gathered(fn, x.local, dt, bool(first))
	if err != nil {
		return nil, err
	}
	return x.Env.Wrap(y), nil
}

// flatFull carries out full_tensor: of a part of a block it is the tensor of which that is a block.
func flatFull(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(fn, args, kwargs); err != nil {
		return nil, err
	}
	p := x.partOf
	if p == nil || p.layout == nil {
		return flatGather(x, fn, nil, nil)
	}
	t, err := p.state(x.local)
	if err == nil {
		t, err = x.Env.Runtime.Shard.Full(fn, t, nil)
	}
	if err != nil {
		return nil, err
	}
	return x.Env.Wrap(t), nil
}

// gathered returns the whole of x, of which this rank has t: on every rank of
// the group, or on the first alone.
func (x flatTensor) gathered(fn string, t *tensor.Tensor, dt arg.OptDType, first bool) (*tensor.Tensor, error) {
	if err := x.mustBeKnown(fn); err != nil {
		return nil, err
	}
	t, err := x.cast(fn, t, dt)
	if err != nil {
		return nil, err
	}
	if first {
		return x.Env.Runtime.CollectFlat(x.group, x.spec.f, t)
	}
	return x.Env.Runtime.GatherFlat(x.group, x.spec.f, t)
}

// flatUnshard carries out unshard_.
func flatUnshard(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data  starlark.Value = starlark.None
		dt    arg.OptDType
		first arg.Bool
	)
	if err := arg.Unpack(fn, args, kwargs, "unsharded_data?", &data, "dtype?", &dt, "rank0_only?", &first); err != nil {
		return nil, err
	}
	if err := x.mayChange(fn); err != nil {
		return nil, err
	}
	if err := x.mustBeKnown(fn); err != nil {
		return nil, err
	}
	if data == starlark.None {
		if x.whole != nil {
			return starlark.None, nil
		}
		y, err := x.gathered(fn, x.local.Detach(), dt, bool(first))
		if err != nil {
			return nil, err
		}
		x.attach(y)
		return starlark.None, nil
	}
	y, err := x.given(fn, data, dt, bool(first))
	if err != nil {
		return nil, err
	}
	x.attach(y)
	return starlark.None, nil
}

// given returns data, which a script has for the whole of x, in the shape of
// that; with first as it is, but on the first rank of the group.
func (x flatTensor) given(fn string, data starlark.Value, dt arg.OptDType, first bool) (*tensor.Tensor, error) {
	t, err := x.Env.PlainArg(fn, "unsharded_data", data)
	if err != nil {
		return nil, err
	}
	defer x.Env.Runtime.Tape.SetEnabled(false)()
	if t, err = x.cast(fn, t.Detach(), dt); err != nil || first && x.group.Rank() != 0 {
		return t, err
	}
	s := x.spec.f.Shape()
	if t.Numel() != x.spec.numel() {
		return nil, mustHaveShape(fn, "unsharded_data", t, s, "that of the whole")
	}
	return x.Env.Runtime.Do("reshape", []*tensor.Tensor{t}, op.IntsN(s...))
}

// flatReshard carries out reshard_.
func flatReshard(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var back arg.Bool
	if err := arg.Unpack(fn, args, kwargs, "writeback?", &back); err != nil {
		return nil, err
	}
	if err := x.mayChange(fn); err != nil {
		return nil, err
	}
	if x.whole == nil {
		return starlark.None, nil
	}
	if back {
		part, err := x.written(fn)
		if err != nil {
			return nil, err
		}
		x.replace(part)
	}
	x.forgetWhole()
	return starlark.None, nil
}

// written returns what this rank stores of the whole that the first rank of
// the group has, in the dtype of its data.
func (x flatTensor) written(fn string) (*tensor.Tensor, error) {
	e := x.Env
	defer e.Runtime.Tape.SetEnabled(false)()
	whole := x.whole.Detach()
	if whole.Numel() == 0 && x.spec.numel() > 0 {
		room, err := tensor.New(e.Runtime.Ops().Alloc, whole.DType(), x.spec.f.Shape())
		if err != nil {
			return nil, &op.ResourceError{Func: fn, Err: err}
		}
		whole = room
	}
	if err := mustHaveShape(fn, "", whole, x.spec.f.Shape(), "that of the whole"); err != nil {
		return nil, err
	}
	first, err := e.Runtime.Run(x.group, runtime.Collective{Op: "broadcast"}, whole)
	if err != nil {
		return nil, err
	}
	part, err := x.part(e, first, true)
	if err != nil {
		return nil, err
	}
	return toDType(e, part, x.local.DType())
}

// flatWrap carries out wrap.
func flatWrap(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data starlark.Value
		on   arg.Opt[arg.Bool, *arg.Bool]
	)
	if err := arg.Unpack(fn, args, kwargs, "tensor", &data, "requires_grad?", &on); err != nil {
		return nil, err
	}
	if err := x.mustBeKnown(fn); err != nil {
		return nil, err
	}
	t, err := x.Env.PlainArg(fn, "tensor", data)
	if err != nil {
		return nil, err
	}
	s, rule := x.local.Shape(), "that of this rank's data: it is sharded"
	if x.whole != nil {
		s, rule = x.spec.f.Shape(), "that of the whole: it is unsharded"
	}
	if err := mustHaveShape(fn, "tensor", t, s, rule); err != nil {
		return nil, err
	}
	requires := t.RequiresGrad()
	if on.Set {
		requires = bool(on.V)
	}
	return x.label(fn, t, requires)
}

// flatChunks carries out chunk_unsharded.
func flatChunks(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data starlark.Value
		pad  arg.Bool
	)
	if err := arg.Unpack(fn, args, kwargs, "tensor", &data, "pad?", &pad); err != nil {
		return nil, err
	}
	t, err := x.wholeArg(fn, data)
	if err != nil {
		return nil, err
	}
	f, most := x.spec.f, 0
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
func flatChunk(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var data starlark.Value
	if err := arg.Unpack(fn, args, kwargs, "tensor", &data); err != nil {
		return nil, err
	}
	t, err := x.wholeArg(fn, data)
	if err != nil {
		return nil, err
	}
	part, err := x.part(x.Env, t, false)
	if err != nil {
		return nil, err
	}
	return x.Env.Wrap(part), nil
}

// wholeArg returns v, the argument tensor of fn, which has the shape of the
// whole of x.
func (x flatTensor) wholeArg(fn string, v starlark.Value) (*tensor.Tensor, error) {
	if err := x.mustBeKnown(fn); err != nil {
		return nil, err
	}
	t, err := x.Env.PlainArg(fn, "tensor", v)
	if err != nil {
		return nil, err
	}
	return t, mustHaveShape(fn, "tensor", t, x.spec.f.Shape(), "that of the whole")
}

// markAsSharded carries out mark_as_sharded.
func markAsSharded(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		spec flatSpecArg
		pg   starlark.Value
	)
	if err := arg.Unpack(fn, args, kwargs, "sharding_spec", &spec, "process_group?", &pg); err != nil {
		return nil, err
	}
	if err := x.mayChange(fn); err != nil {
		return nil, err
	}
	return starlark.None, x.mark(fn, "sharding_spec", spec.FlatShardingSpec, pg)
}

// setShardedData makes v this rank's data of x.
func (x flatTensor) setShardedData(fn string, v starlark.Value) error {
	if err := x.mayChange(fn); err != nil {
		return err
	}
	t, err := x.Env.PlainArg(fn, "", v)
	if err != nil {
		return err
	}
	if t.Ndim() != 1 {
		return &op.ArgError{Func: fn, Got: op.Describe(t), Want: "a tensor of one dim"}
	}
	if x.spec != nil {
		if err := mustHaveShape(fn, "", t, x.local.Shape(), "that of this rank's data"); err != nil {
			return err
		}
	}
	if x.T.RequiresGrad() && !t.DType().IsFloat() {
		return &op.ArgError{Func: fn, Got: op.Describe(t), Want: "a float tensor", Rule: "it requires grad"}
	}
	x.replace(t)
	return nil
}

// A flatMethod carries out a method of flat tensors, fn being its name and x its
// receiver.
type flatMethod func(x flatTensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// flatRow returns a row for a method of flat tensors.
func flatRow(name, doc string, do flatMethod) *builtins.Row {
	return &builtins.Row{Name: "ShardedFlatTensor." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return do(asFlat(b.Receiver().(*builtins.Tensor)), b.Name(), args, kwargs)
	}}
}

// flatMethodRows returns the methods of flat tensors.
func flatMethodRows() []*builtins.Row {
	return []*builtins.Row{
		flatRow("gather", "gather(dtype=None, rank0_only=False) returns the whole as a plain tensor, on every rank of the group: one all_gather.\n"+
			"dtype is what the data is converted to before. With rank0_only it is one gather, and ranks but the first of the group\n"+
			"get a tensor of shape (0,). The gradient goes back to the ranks. Unsharded, it returns the whole that there is.\n"+
			exampleFlat+">>> t.gather().shape\n(2, 3)", flatGather),
		flatRow("full_tensor", "full_tensor() returns the whole as gather does and, of a part of a block of a distributed parameter, the whole parameter, unrecorded.\n"+
			exampleFlat+">>> t.full_tensor().shape\n(2, 3)", flatFull),
		flatRow("unshard_", "unshard_(unsharded_data=None, dtype=None, rank0_only=False) makes the tensor stand for its whole, until reshard_().\n"+
			"The whole is gathered as gather does, or is unsharded_data, on whose storage it then is, and nothing is sent; of a tensor\n"+
			"that is unsharded it stays. With rank0_only other ranks than the first of the group have no elements. This rank's data\n"+
			"is kept as it is.\n"+
			exampleFlat+">>> t.unshard_()\n>>> t.sum(dim=0).tolist()\n[3.0, 5.0, 7.0]", flatUnshard),
		flatRow("reshard_", "reshard_(writeback=False) makes the tensor stand for this rank's data again, and forgets the whole with the changes made in it.\n"+
			"With writeback the first rank of the group sends its whole, in one broadcast, and each stores its part as its data, in\n"+
			"the dtype of the data; every rank of the group calls it. The gradient stays as it is.\n"+
			exampleFlat+">>> t.unshard_()\n>>> t.unsharded_data.mul_(2.0)[0].tolist()\n[0.0, 2.0, 4.0]\n>>> t.reshard_(writeback=True)\n>>> t.gather()[0].tolist()\n[0.0, 2.0, 4.0]", flatReshard),
		flatRow("wrap", "wrap(tensor, requires_grad=None) returns another tensor as a ShardedFlatTensor with the same spec, group and state.\n"+
			"tensor is its data on this rank while this one is sharded, and else its whole. requires_grad None is as tensor has it.\n"+
			exampleFlat+">>> t.wrap(zeros(6)).gather().shape\n(2, 3)", flatWrap),
		flatRow("chunk_unsharded", "chunk_unsharded(tensor, pad=False) returns what each rank of the group would store of a tensor of the whole's shape: a list of tensors of one dim.\n"+
			"With pad zeros follow, so that they are equally long.\n"+
			exampleFlat+">>> [c.shape for c in t.chunk_unsharded(ones(2, 3))]\n[(6,)]", flatChunks),
		flatRow("sharded_chunk", "sharded_chunk(tensor) returns what this rank would store of a tensor of the whole's shape. It may share its storage.\n"+
			exampleFlat+">>> t.sharded_chunk(ones(2, 3)).shape\n(6,)", flatChunk),
		flatRow("mark_as_sharded", "mark_as_sharded(sharding_spec, process_group=None) says which elements of a whole the data of each rank of a group is.\n"+
			"process_group None is all ranks.\n"+
			">>> t = ShardedFlatTensor(zeros(6))\n>>> t.mark_as_sharded(flat.ShardingSpec((2, 3), (((0, 6),),)))\n>>> t.unsharded_shape\n(2, 3)", markAsSharded),
	}
}
