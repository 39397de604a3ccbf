package colossal

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A specView makes a distributed tensor a ColoTensor: it is the Lens of one. How
// the tensor is cut is no part of it: that is its layout, on the mesh of pg or
// on that mesh with its tensor-parallel dim seen as a grid.
//
// A specView is never changed: a tensor gets another one.
type specView struct {
	builtins.PlainLens
	pg      *ProcessGroup
	compute *ComputeSpec // nil for none
	model   bool         // a ColoParameter
	free    bool         // made without a spec: it joins the group of whatever it meets
}

// viewOf returns the view of t; nil if t is no ColoTensor.
func viewOf(t *tensor.Tensor) *specView {
	if t == nil {
		return nil
	}
	v, _ := t.Lens.(*specView)
	return v
}

// isColo reports whether t is a ColoTensor.
func isColo(t *tensor.Tensor) bool { return viewOf(t) != nil }

var _ builtins.OperatorLens = (*specView)(nil)

// Detached implements OperatorLens.
func (v *specView) Detached() builtins.Lens { return v.of() }

// of returns the view of a result of operators on tensors seen through v.
func (v *specView) of() *specView { return &specView{pg: v.pg, free: v.free} }

// Parameter returns v for a ColoParameter.
func (v *specView) Parameter() builtins.Lens {
	m := *v
	m.model = true
	return &m
}

// Type returns the type of tensors seen through v.
func (v *specView) Type() string {
	if v.model {
		return "ColoParameter"
	}
	return "ColoTensor"
}

var owners = []string{"Tensor", "ColoTensor", "DTensor"}

// Owners implements Lens.
func (*specView) Owners(*builtins.Tensor) []string { return owners }

// SetField implements Lens: compute_spec can be assigned.
func (*specView) SetField(x *builtins.Tensor, name string, v starlark.Value) (bool, error) {
	if name != "compute_spec" {
		return false, nil
	}
	return true, setComputeSpec(x.T, name, v)
}

// Attr implements Lens: what makes a ColoTensor is an attribute of every one, too.
func (v *specView) Attr(_ *builtins.Tensor, name string) starlark.Value {
	if name != "from_torch_tensor" {
		return nil
	}
	return builtins.Lookup(v.Type() + "." + name)
}

// layoutDims returns how a layout on the mesh of a ProcessGroup, or on one with
// its tensor-parallel dim seen as a grid, cuts a tensor: which dims into how many
// blocks. No dims are none cut. ok is false if no spec says what the layout does.
func layoutDims(l *mesh.Placed) (dims, parts []int, ok bool) {
	seen := map[int]bool{}
	for i, p := range l.Placements() {
		d, cut := p.Shard()
		switch {
		case p.IsReplicate():
			continue
		case !cut, i == dpDim, seen[d]:
			return nil, nil, false
		}
		seen[d] = true
		dims, parts = append(dims, d), append(parts, l.Mesh().Shape()[i])
	}
	if len(dims) > 0 && len(dims) != l.Mesh().NDim()-tpDim {
		return nil, nil, false
	}
	return dims, parts, true
}

// specOf returns the dist spec of the ColoTensor t. Its dims count from the
// front.
func specOf(e *builtins.Env, t *tensor.Tensor) *DistSpec {
	dims, parts, ok := layoutDims(t.Layout())
	if !ok {
		panic(fmt.Sprintf("builtins: a ColoTensor placed as %v", t.Layout()))
	}
	return &DistSpec{env: e, dims: dims, parts: parts, ndim: t.Ndim()}
}

// oneCut returns the dim that t is cut along, if it is one, and false otherwise.
func oneCut(t *tensor.Tensor) (dim int, ok bool) {
	dims, _, _ := layoutDims(t.Layout())
	if len(dims) != 1 {
		return 0, false
	}
	return dims[0], true
}

// isWhole reports whether every rank of a tensor-parallel group holds all of t:
// it is not cut, or into one part.
func isWhole(t *tensor.Tensor) bool {
	dims, parts, _ := layoutDims(t.Layout())
	return len(dims) == 0 || len(parts) == 1 && parts[0] == 1 || viewOf(t).pg.degree(tpDim) == 1
}

// Describe returns t as errors show it.
func (*specView) Describe(e *builtins.Env, t *tensor.Tensor) string {
	return fmt.Sprintf("%s as %v on %s", op.Describe(t), specOf(e, t), viewOf(t).pg.Describe())
}

// Format returns what a script sees of a ColoTensor: how it lies, and this rank's
// block.
func (v *specView) Format(x *builtins.Tensor, t *tensor.Tensor) string {
	e := x.Env
	head := fmt.Sprintf("%s(%s, %v, %v", v.Type(), op.Describe(t), specOf(e, t), v.pg)
	if v.compute != nil {
		head += ", " + v.compute.String()
	}
	box, ok := t.Layout().Box(e.Runtime.ID())
	if !ok {
		return head + ", not on this rank)"
	}
	return head + fmt.Sprintf(", block %v)\n%s", box, builtins.FormatTensor(e, t.Local()))
}

// The specArgs are the arguments of the constructors of ColoTensors.
type specArgs struct {
	spec  tensorSpecArg
	shape arg.Opt[arg.Shape, *arg.Shape]
}

// payload returns v, the payload that fn is given: of None, one without elements.
func payload(e *builtins.Env, fn, param string, v starlark.Value) (*tensor.Tensor, error) {
	if v == nil || v == starlark.None {
		return tensor.New(e.Runtime.Ops().Alloc, e.Runtime.Ops().Float, shape.Shape{0})
	}
	return e.PlainArg(fn, param, v)
}

// newColo returns the ColoTensor of which this rank's payload is the plain x. If
// x requires grad, the result has its gradient from it.
func newColo(e *builtins.Env, fn, param string, x *tensor.Tensor, s *specArgs) (*tensor.Tensor, error) {
	view := &specView{}
	dist := replicaSpec(e)
	if given := s.spec.ColoTensorSpec; given != nil {
		view.pg, view.compute, dist = given.pg, given.compute, given.dist
	} else {
		all, err := defaultProcessGroup(e)
		if err != nil {
			return nil, err
		}
		view.pg, view.free = all, true
	}
	whole := shape.Shape(s.shape.V)
	if !s.shape.Set {
		var err error
		if whole, err = wholeShape(fn, dist, x.Shape()); err != nil {
			return nil, err
		}
	}
	l, err := placeSpec(e, fn, "spec", view.pg, dist, whole)
	if err != nil {
		return nil, err
	}
	y, err := e.Runtime.Shard.Join(x, l)
	if err != nil {
		return nil, ofPayload(fn, param, err, s.shape.Set)
	}
	y.Lens = view
	return y, nil
}

// ofPayload gives an error about a block the names of the script's function and
// parameter, and says how blocks of different sizes are stated.
func ofPayload(fn, param string, err error, sized bool) error {
	bad, ok := err.(*op.ArgError)
	if !ok {
		return err
	}
	bad.Func = fn
	if bad.Param == "x" {
		bad.Param = param
		if !sized {
			bad.Rule += "; blocks of different sizes need shape="
		}
	}
	return bad
}

// wholeShape returns the shape of the tensor whose blocks, cut as s says, all
// have the shape local.
func wholeShape(fn string, s *DistSpec, local shape.Shape) (shape.Shape, error) {
	whole := append(shape.Shape{}, local...)
	for i, d := range s.dims {
		dim, err := specDim(fn, "spec", s, d, local)
		if err != nil {
			return nil, err
		}
		whole[dim] *= s.parts[i]
	}
	return whole, nil
}

// newColoTensor carries out ColoTensor(data, spec, shape): a leaf.
func newColoTensor(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn   = b.Name()
		data starlark.Value
		s    specArgs
	)
	if err := arg.Unpack(fn, args, kwargs, "data", &data, "spec??", &s.spec, "shape?", &s.shape); err != nil {
		return nil, err
	}
	x, err := payload(e, fn, "data", data)
	if err != nil {
		return nil, err
	}
	y, err := newColo(e, fn, "data", x.Detach(), &s)
	if err != nil {
		return nil, err
	}
	if x.RequiresGrad() {
		if err := builtins.RequireGrad(fn, y); err != nil {
			return nil, err
		}
	}
	return e.Wrap(y), nil
}

// fromTorch carries out ColoTensor.from_torch_tensor.
func fromTorch(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn   = b.Name()
		data starlark.Value
		s    specArgs
	)
	if err := arg.Unpack(fn, args, kwargs, "tensor", &data, "spec??", &s.spec, "shape?", &s.shape); err != nil {
		return nil, err
	}
	x, err := e.PlainArg(fn, "tensor", data)
	if err != nil {
		return nil, err
	}
	y, err := newColo(e, fn, "tensor", x, &s)
	if err != nil {
		return nil, err
	}
	return e.Wrap(y), nil
}

// newColoParameter returns what carries out ColoParameter and
// ColoParameter.from_torch_tensor, whose payload is called param.
func newColoParameter(param string, optional bool) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			fn       = b.Name()
			data     starlark.Value
			requires = arg.Bool(true)
			s        specArgs
			name     = param
		)
		if optional {
			name += "?"
		}
		if err := arg.Unpack(fn, args, kwargs, name, &data, "requires_grad?", &requires, "spec??", &s.spec, "shape?", &s.shape); err != nil {
			return nil, err
		}
		x, err := payload(e, fn, param, data)
		if err != nil {
			return nil, err
		}
		y, err := newColo(e, fn, param, x.Detach(), &s)
		if err != nil {
			return nil, err
		}
		y.Lens = viewOf(y).Parameter()
		p := e.Wrap(y)
		p.Parameter = true
		if !requires {
			return p, nil
		}
		return p, builtins.RequireGrad(fn, y)
	}
}
