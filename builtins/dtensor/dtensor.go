package dtensor

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/mesh"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// A dtensorLens is how distributed tensors are seen.
type dtensorLens struct{ builtins.PlainLens }

func init() { builtins.RegisterPlacedLens(dtensorLens{}) }

var dtensorOwners = []string{"Tensor", "DTensor"}

func (dtensorLens) Type() string                     { return "DTensor" }
func (dtensorLens) Owners(*builtins.Tensor) []string { return dtensorOwners }

// Format returns what a script sees of a distributed tensor: how it lies, and this
// rank's block.
func (dtensorLens) Format(x *builtins.Tensor, t *tensor.Tensor) string {
	e, l := x.Env, t.Layout()
	head := fmt.Sprintf("DTensor(%s, placements=%s, mesh=%s", op.Describe(t), mesh.List(l.Placements()), l.Mesh().Short())
	box, ok := l.Box(e.Runtime.Self())
	if !ok {
		return head + ", not on this rank)"
	}
	if len(box.Lo) > 0 {
		head += fmt.Sprintf(", block %v", box)
	}
	return head + ")\n" + builtins.FormatTensor(e, t.Local())
}

// placedArg returns t, which is the argument called param of fn and must be a
// distributed tensor.
func placedArg(fn, param string, v starlark.Value) (*tensor.Tensor, error) {
	x, ok := v.(*builtins.Tensor)
	if !ok {
		return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "a distributed tensor"}
	}
	t, err := x.Tensor()
	if err == nil && !t.Placed() {
		err = &op.ArgError{Func: fn, Param: param, Got: "a plain tensor " + op.Describe(t), Want: "a distributed tensor", Rule: "distribute_tensor and DTensor.from_local make them"}
	}
	return t, err
}

// layoutArgs returns the layout of a tensor of a shape on the mesh m, as the
// function fn was given it. No placements are all Replicate.
func layoutArgs(e *builtins.Env, fn string, m *mesh.Mesh, s shape.Shape, p optPlacements) (*mesh.Placed, error) {
	list := make([]mesh.Placement, m.NDim())
	if p.Set {
		var err error
		if list, err = p.V.on(m, len(s)); err != nil {
			return nil, arg.In(fn, "placements", err)
		}
	}
	l, err := e.Runtime.Layouts().Place(m, s, list)
	return l, shard.OfMesh(fn, err)
}

// fromLocal carries out DTensor.from_local.
func fromLocal(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn    = b.Name()
		x     starlark.Value
		m     optMesh
		p     optPlacements
		sizes arg.Opt[arg.Shape, *arg.Shape]
		check arg.Bool
		grads optPlacements
		steps arg.Opt[arg.Shape, *arg.Shape]
	)
	if err := arg.Unpack(fn, args, kwargs, "x|local_tensor", &x, "mesh|device_mesh?", &m, "placements?", &p, "shape?", &sizes, "run_check?", &check, "grad_placements?", &grads, "stride?", &steps); err != nil {
		return nil, err
	}
	t, err := e.PlainArg(fn, "x", x)
	if err != nil {
		return nil, err
	}
	dm, err := meshFor(e, m, p)
	if err != nil {
		return nil, err
	}
	s := shape.Shape(sizes.V)
	if !sizes.Set {
		if s, err = sizeOfParts(e, fn, dm, t.Shape(), p); err != nil {
			return nil, err
		}
	}
	if got := []int(steps.V); steps.Set && !slices.Equal(got, s.Strides()) {
		return nil, &op.ArgError{Func: fn, Param: "stride", Got: mesh.Tuple(got), Want: mesh.Tuple(s.Strides()), Rule: "a distributed tensor lies row by row"}
	}
	l, err := layoutArgs(e, fn, dm, s, p)
	if err != nil {
		return nil, err
	}
	var back *mesh.Placed
	if grads.Set {
		if back, err = layoutArgs(e, fn, dm, s, grads); err != nil {
			return nil, ofParam(fn, "grad_placements", err)
		}
	}
	if err := checkLocal(fn, t, l, back); err != nil {
		return nil, err
	}
	y, err := e.Runtime.Shard.JoinBack(t, l, back)
	if err != nil {
		return nil, unevenHint(fn, err, sizes.Set)
	}
	if check {
		if err := e.Runtime.Shard.CheckReplicas(fn, y); err != nil {
			return nil, err
		}
	}
	return e.Wrap(y), nil
}

// unevenHint gives an error about a block the name of the script's function, and
// says how blocks of different sizes are stated.
func unevenHint(fn string, err error, sized bool) error {
	bad, ok := err.(*op.ArgError)
	if !ok {
		return err
	}
	bad.Func = fn
	if !sized && bad.Param == "x" {
		bad.Rule += "; blocks of different sizes need shape="
	}
	return bad
}

// worldMesh returns the mesh that was given, or that of with_mesh, or that of all ranks
// in a line.
func worldMesh(e *builtins.Env, m optMesh) (*mesh.Mesh, error) {
	if m.Set {
		return m.V.Mesh(), nil
	}
	if current := builtins.StateOf[currentMesh](e); current.m != nil {
		return current.m, nil
	}
	all, err := mesh.New([]int{e.Runtime.Size()}, nil, nil)
	if err != nil {
		return nil, err
	}
	return e.Runtime.Layouts().Mesh(all), nil
}

// meshFor is worldMesh for placements, which may say which mesh is meant.
func meshFor(e *builtins.Env, m optMesh, p optPlacements) (*mesh.Mesh, error) {
	if !m.Set && p.V.spec != nil {
		if its, _ := p.V.spec.Mesh(); its != nil {
			return its, nil
		}
	}
	return worldMesh(e, m)
}

// sizeOfParts returns the shape of a tensor of which this rank's block has shape s: all have,
// or their units' share.
func sizeOfParts(e *builtins.Env, fn string, m *mesh.Mesh, s shape.Shape, p optPlacements) (shape.Shape, error) {
	s = append(shape.Shape{}, s...)
	if !p.Set {
		return s, nil
	}
	list, err := p.V.on(m, len(s))
	if err != nil {
		return nil, arg.In(fn, "placements", err)
	}
	if len(list) == m.NDim() {
		list, err := mesh.Normalize(list, s)
		if err != nil {
			return nil, shard.OfMesh(fn, err)
		}
		for i, q := range list {
			d, ok := q.Shard()
			if _, units, ragged := q.Units(); ragged {
				if s[d], err = sizeOfUnits(fn, m, i, e.Runtime.ID(), s, d, units); err != nil {
					return nil, err
				}
			} else if ok {
				s[d] *= m.Shape()[i]
			}
		}
	}
	return s, nil
}

// sizeOfUnits returns the size of dim d of which the rank has a block of shape s, for its units
// along a dim of the mesh.
func sizeOfUnits(fn string, m *mesh.Mesh, meshDim, rank int, s shape.Shape, d int, units []int) (int, error) {
	at := m.Coordinate(rank)
	if at == nil || at[meshDim] >= len(units) {
		return s[d], nil // no member, or Place says what is wrong
	}
	own, sum := units[at[meshDim]], 0
	for _, n := range units {
		sum += n
	}
	if own == 0 || s[d]%own != 0 {
		return 0, &op.ArgError{Func: fn, Param: "x", Got: fmt.Sprintf("%d along dim %d", s[d], d), Want: fmt.Sprintf("a positive multiple of the rank's %d units", own),
			Rule: "the whole follows from it; else shape= says it"}
	}
	return s[d] / own * sum, nil
}

// distributeTensor carries out distribute_tensor.
func distributeTensor(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn  = b.Name()
		x   starlark.Value
		m   optMesh
		p   optPlacements
		src = arg.OptInt{Set: true}
	)
	if err := arg.Unpack(fn, args, kwargs, "x|tensor", &x, "mesh|device_mesh?", &m, "placements?", &p, "src_data_rank?", &src); err != nil {
		return nil, err
	}
	t, err := e.TensorArg(fn, "x", x)
	if err != nil {
		return nil, err
	}
	dm, err := meshFor(e, m, p)
	if err != nil {
		return nil, err
	}
	if t.Placed() && !m.Set {
		dm = t.Layout().Mesh()
	}
	return distributed(e, fn, x, dm, p, src)
}

// distributed returns the tensor x placed as p on m, with the data of place src, or
// without one with those of every rank. Of a leaf it is a leaf of its own.
func distributed(e *builtins.Env, fn string, x starlark.Value, m *mesh.Mesh, p optPlacements, src arg.OptInt) (starlark.Value, error) {
	t, y, err := laid(e, fn, x, m, p, src)
	if err != nil {
		return nil, err
	}
	switch {
	case y == t:
		return x, nil
	case !t.RequiresGrad():
	case grad.IsLeaf(t):
		if err := builtins.RequireGrad(fn, y); err != nil {
			return nil, err
		}
	default:
		e.Runtime.Shard.RecordDistribution(t, y)
	}
	return e.Wrap(y), nil
}

// laid returns the tensor t of x and y, which is t placed as p on m, without a history; t itself
// if it lies so already.
func laid(e *builtins.Env, fn string, x starlark.Value, m *mesh.Mesh, p optPlacements, src arg.OptInt) (t, y *tensor.Tensor, err error) {
	if t, err = e.TensorArg(fn, "x", x); err != nil {
		return nil, nil, err
	}
	l, err := layoutArgs(e, fn, m, t.Shape(), p)
	if err != nil {
		return nil, nil, err
	}
	if t.Placed() {
		if t.Layout().Equal(l) {
			return t, t, nil
		}
		return nil, nil, &op.ArgError{Func: fn, Param: "x", Got: shard.Describe(t), Want: "a plain tensor, or one that lies so already", Rule: ".redistribute() moves a distributed tensor"}
	}
	if l.IsPartial() {
		return nil, nil, &op.ArgError{Func: fn, Param: "placements", Got: mesh.List(l.Placements()), Want: "Replicate() or Shard(dim)", Rule: "DTensor.from_local(x, mesh, [Partial()]) takes summands"}
	}
	y, err = distribute(e, fn, t, l, src)
	return t, y, err
}

// distribute returns the tensor that the rank at place src of l's mesh has in t,
// or if src is None what each rank has there.
func distribute(e *builtins.Env, fn string, t *tensor.Tensor, l *mesh.Placed, src arg.OptInt) (*tensor.Tensor, error) {
	if !src.Set {
		return e.Runtime.Shard.Block(t, l)
	}
	ranks := l.Mesh().Ranks()
	if src.V < 0 || int(src.V) >= len(ranks) {
		return nil, &op.ArgError{Func: fn, Param: "src_data_rank", Got: fmt.Sprint(src.V), Want: fmt.Sprintf("0..%d or None", len(ranks)-1), Rule: "a place in the mesh " + l.Mesh().Short()}
	}
	return e.Runtime.Shard.Distribute(t, l, ranks[src.V])
}

// redistribute carries out DTensor.redistribute.
func redistribute(e *builtins.Env, fn string, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m                 optMesh
		p                 optPlacements
		async             arg.Bool
		forward, backward arg.OptDType
	)
	if err := arg.Unpack(fn, args, kwargs, "mesh|device_mesh?", &m, "placements?", &p, "async_op?", &async, "forward_dtype?", &forward, "backward_dtype?", &backward); err != nil {
		return nil, err
	}
	dm := t.Layout().Mesh()
	if m.Set {
		dm = m.V.Mesh()
	} else if p.V.spec != nil {
		if its, alone := p.V.spec.Mesh(); alone {
			dm = its
		}
	}
	if !p.Set {
		if !m.Set || dm.NDim() != t.Layout().Mesh().NDim() {
			return nil, &op.ArgError{Func: fn, Param: "placements", Got: "None", Want: "a list of placements", Rule: "one for each dim of the mesh " + dm.Short()}
		}
		p = optPlacements{V: only(t.Layout().Placements()...), Set: true}
	}
	l, err := layoutArgs(e, fn, dm, t.Shape(), p)
	if err != nil {
		return nil, err
	}
	if forward.Set || backward.Set {
		if async {
			return nil, &op.ArgError{Func: fn, Param: "async_op", Got: "True with a dtype", Want: "False", Rule: "convert with .to(dtype) first"}
		}
		return redistributeAs(e, fn, t, l, forward, backward)
	}
	if async {
		return redistributeAsync(e, fn, t, l)
	}
	y, err := e.Runtime.Shard.Redistribute(fn, t, l)
	if err != nil {
		return nil, err
	}
	return e.Wrap(y), nil
}

// redistributeAs returns the tensor moved in a dtype, with a gradient that is moved in
// another; without one each is that of the tensor.
func redistributeAs(e *builtins.Env, fn string, t *tensor.Tensor, l *mesh.Placed, forward, backward arg.OptDType) (starlark.Value, error) {
	there, back := t.DType(), t.DType()
	if forward.Set {
		there = forward.V.D
	}
	if backward.Set {
		back = backward.V.D
	}
	y, err := e.Runtime.Shard.RedistributeAs(fn, t, l, there, back)
	if err != nil {
		return nil, err
	}
	return e.Wrap(y), nil
}

// redistributeAsync returns the tensor moved, and the work of moving it.
func redistributeAsync(e *builtins.Env, fn string, t *tensor.Tensor, l *mesh.Placed) (starlark.Value, error) {
	w, err := e.Runtime.RedistributeAsync(fn, t, l)
	if err != nil {
		return nil, err
	}
	y := e.WrapWork(w)
	y.Distributed = true
	return starlark.Tuple{y, collective.WrapWork(e, w)}, nil
}

// gradLayout returns the layout that grad_placements gives the gradient of t;
// nil if they are None.
func gradLayout(e *builtins.Env, fn string, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (*mesh.Placed, error) {
	var p optPlacements
	if err := arg.Unpack(fn, args, kwargs, "grad_placements?", &p); err != nil || !p.Set {
		return nil, err
	}
	l, err := layoutArgs(e, fn, t.Layout().Mesh(), t.Shape(), p)
	return l, ofParam(fn, "grad_placements", err)
}

// LocalShape returns the shape of this rank's block.
func LocalShape(t *tensor.Tensor) starlark.Tuple {
	return builtins.ShapeTuple(t.Local().Shape())
}
