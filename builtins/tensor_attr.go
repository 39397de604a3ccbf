package builtins

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/spell"
	"tpsh/mesh"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// tensorRow returns a row for an attribute of tensors.
func tensorRow(name, doc string, get func(e *Env, t *tensor.Tensor) (starlark.Value, error)) *Row {
	return &Row{Name: "Tensor." + name, Doc: doc, Get: func(e *Env, x starlark.Value) (starlark.Value, error) {
		t, err := x.(*Tensor).Tensor()
		if err != nil {
			return nil, err
		}
		return get(e, t)
	}}
}

// A tensorMethod carries out a method of tensors, fn being its name and x its
// receiver.
type tensorMethod func(e *Env, fn string, x *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// methodRow returns a row for a method of tensors.
func methodRow(name, doc string, do tensorMethod) *Row {
	return &Row{Name: "Tensor." + name, Doc: doc, Fn: func(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x := b.Receiver().(*Tensor)
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		return do(x.Env, b.Name(), x, t, args, kwargs)
	}}
}

func init() {
	Register(
		tensorRow("shape", "shape is the tuple of the sizes of the dims.\n>>> zeros(2, 3).shape\n(2, 3)",
			func(_ *Env, t *tensor.Tensor) (starlark.Value, error) { return ShapeTuple(t.Shape()), nil }),
		tensorRow("dtype", "dtype is the type of the elements.\n>>> zeros(2).dtype\nfloat32",
			func(_ *Env, t *tensor.Tensor) (starlark.Value, error) { return DtypeOf(t.DType()), nil }),
		tensorRow("ndim", "ndim is the number of dims.\n>>> zeros(2, 3).ndim\n2",
			func(_ *Env, t *tensor.Tensor) (starlark.Value, error) { return starlark.MakeInt(t.Ndim()), nil }),
		tensorRow("T", "T is the tensor with its dims in reverse order, sharing its storage.\n"+
			">>> tensor([[1, 2], [3, 4]]).T.tolist()\n[[1, 3], [2, 4]]",
			turnedBy("T")),
		tensorRow("mT", "mT is the tensor with its last two dims exchanged, sharing its storage.\n>>> tensor([[[1, 2]]]).mT.tolist()\n[[[1], [2]]]", turnedBy("mT")),
		tensorRow("mH", "mH is the tensor with its last two dims exchanged, and conjugated.\n>>> tensor([[1, 2]]).mH.shape\n(2, 1)", turnedBy("mH")),
		tensorRow("H", "H is the matrix, transposed and conjugated.\n>>> tensor([[1, 2]]).H.shape\n(2, 1)", turnedBy("H")),
		methodRow("size", "size(dim=None) returns the size of a dim, or the shape if dim is None.\n"+
			">>> zeros(2, 3).size(-1)\n3\n>>> zeros(2, 3).size()\n(2, 3)", TensorSize),
		methodRow("dim", "dim() returns the number of dims.\n>>> zeros(2, 3).dim()\n2",
			func(_ *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return starlark.MakeInt(t.Ndim()), arg.Unpack(fn, args, kwargs)
			}),
		methodRow("numel", "numel() returns the number of elements.\n>>> zeros(2, 3).numel()\n6",
			func(_ *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return starlark.MakeInt(t.Numel()), arg.Unpack(fn, args, kwargs)
			}),
		methodRow("item", "item() returns the element of a tensor that has one, as a float, an int or a bool.\n"+
			">>> tensor([[2.5]]).item()\n2.5",
			func(_ *Env, fn string, x *Tensor, _ *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				if err := arg.Unpack(fn, args, kwargs); err != nil {
					return nil, err
				}
				return x.item(fn)
			}),
		methodRow("tolist", "tolist() returns the elements as nested lists; of a tensor of shape (), the element.\n"+
			">>> tensor([[1, 2], [3, 4]]).tolist()\n[[1, 2], [3, 4]]",
			func(e *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				if err := arg.Unpack(fn, args, kwargs); err != nil {
					return nil, err
				}
				return Nested(e, fn, t)
			}),
		methodRow("detach", "detach() returns a tensor on the same storage that takes no part in differentiation.\n"+
			">>> ones(2, requires_grad=True).detach().requires_grad\nFalse",
			func(e *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return detached(e, t), arg.Unpack(fn, args, kwargs)
			}),
	)
}

// detached returns t without its part in differentiation, on the same storage.
func detached(e *Env, t *tensor.Tensor) *Tensor {
	y := t.Detach()
	if l := OperatorLensOf(t); l != nil {
		y.Lens = l.Detached()
	}
	return e.Wrap(y)
}

// turnedBy returns how an attribute is read that the operator called name makes.
func turnedBy(name string) func(e *Env, t *tensor.Tensor) (starlark.Value, error) {
	d := op.Lookup(name)
	return func(e *Env, t *tensor.Tensor) (starlark.Value, error) {
		return applyOperator(e, d, t, nil, e.Wrap(t))
	}
}

// TensorSize carries out Tensor.size.
func TensorSize(_ *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var dim arg.OptInt
	if err := arg.Unpack(fn, args, kwargs, "dim?", &dim); err != nil {
		return nil, err
	}
	if !dim.Set {
		return ShapeTuple(t.Shape()), nil
	}
	d, err := arg.Dim(fn, "dim", int(dim.V), t.Shape())
	if err != nil {
		return nil, err
	}
	return starlark.MakeInt(t.Shape()[d]), nil
}

// String implements starlark.Value: the elements as NumPy shows them.
func (x *Tensor) String() string {
	t, err := x.Tensor()
	if err != nil {
		x.Env.Leave(err)
		return "tensor"
	}
	return x.seenThrough().Format(x, t)
}

// Describe returns dtype and shape: float32[2, 3].
func (x *Tensor) Describe() string {
	if x.T == nil {
		return "a tensor under way"
	}
	return DescribeTensor(x.Env, x.T)
}

// Type implements starlark.Value.
func (x *Tensor) Type() string { return x.seenThrough().Type() }

// Attr implements starlark.HasAttrs.
func (x *Tensor) Attr(name string) (starlark.Value, error) {
	for _, owner := range x.owners() {
		if v, err := x.Env.Attr(owner, x, name); v != nil || err != nil {
			return v, err
		}
	}
	return x.seenThrough().Attr(x, name), nil
}

// owners returns the types whose members x has.
func (x *Tensor) owners() []string { return x.seenThrough().Owners(x) }

// AttrNames implements starlark.HasAttrs.
func (x *Tensor) AttrNames() []string {
	owners := x.owners()
	if len(owners) == 1 {
		return AttrNames(owners[0])
	}
	var names []string
	for _, owner := range owners {
		names = append(names, AttrNames(owner)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Placed reports whether x is a distributed tensor.
func (x *Tensor) Placed() bool { return x.Distributed || x.T != nil && x.T.Placed() }

// SetField implements starlark.HasSetField: grad and requires_grad can be
// assigned.
func (x *Tensor) SetField(name string, v starlark.Value) error {
	switch name {
	case "grad":
		return x.setGrad(v)
	case "requires_grad":
		var on arg.Bool
		if err := arg.Set(name, name, &on, v); err != nil {
			return err
		}
		return x.requiresGrad(name, bool(on))
	}
	if ok, err := x.seenThrough().SetField(x, name, v); ok {
		return err
	}
	if IsMember("Tensor", name) {
		return fmt.Errorf("can't assign to .%s of a tensor", name)
	}
	none := fmt.Sprintf("tensor has no .%s field to assign to", name)
	if near := spell.Nearest(name, []string{"grad", "requires_grad"}); near != "" { // else Starlark finds a method
		return fmt.Errorf("%s (did you mean .%s?)", none, near)
	}
	return starlark.NoSuchAttrError(none)
}

// gradLayout returns how the gradient of t, which x holds, lies, nil if it is plain,
// and says why.
func (x *Tensor) gradLayout(t *tensor.Tensor) (*mesh.Placed, string) {
	switch {
	case !t.Placed():
		return nil, "a gradient lies like its tensor"
	case t.Layout().IsPartial():
		return x.Env.Runtime.Shard.GradLayout(t.Layout()), "a gradient lies like its tensor, and is replicated where that is Partial"
	}
	return t.Layout(), "a gradient lies like its tensor"
}

// setGrad makes v, a tensor like x or None, the gradient of x.
func (x *Tensor) setGrad(v starlark.Value) error {
	t, err := x.Tensor()
	if err != nil {
		return err
	}
	if err := CheckFrozen("grad", t); err != nil {
		return err
	}
	if v == starlark.None {
		if t.Auto != nil && t.Auto.Grad != nil {
			x.Env.Runtime.Forgot(t.Auto.Grad)
			t.Auto.Forget()
		}
		return nil
	}
	g, err := x.Env.TensorArg("grad", "", v)
	if err != nil {
		return err
	}
	if want, rule := x.gradLayout(t); g.Layout() != want {
		like := op.Describe(t)
		if want != nil {
			like = shard.DescribeAs(t, want)
		}
		return &op.ArgError{Func: "grad", Got: shard.Describe(g), Want: like, Rule: rule}
	}
	if !g.Shape().Equal(t.Shape()) || g.DType() != t.DType() {
		return &op.ArgError{Func: "grad", Got: op.Describe(g), Want: op.Describe(t) + " or None", Rule: "a gradient is like its tensor"}
	}
	if t.Auto == nil {
		t.Auto = &tensor.Auto{}
	}
	x.Env.Runtime.Held()
	t.Auto.Forget()
	t.Auto.Grad = g
	return nil
}

// requiresGrad says, for the function fn, whether gradients are wanted in x,
// which is a leaf unless it changes nothing.
func (x *Tensor) requiresGrad(fn string, on bool) error {
	t, err := x.Tensor()
	if err != nil {
		return err
	}
	if t.RequiresGrad() == on {
		return nil
	}
	if !grad.IsLeaf(t) {
		return &op.ArgError{Func: fn, Got: "False for the result of a recorded operation", Want: "a leaf", Rule: ".detach() gives one"}
	}
	if err := CheckFrozen(fn, t); err != nil {
		return err
	}
	if on {
		return RequireGrad(fn, t)
	}
	t.Auto.Requires = false
	return nil
}

// ReplaceParameter makes x hold y, in another form of what it holds now: it requires a
// gradient as before, and what is called with its gradients stays.
func ReplaceParameter(fn string, x *Tensor, y *tensor.Tensor) error {
	t := x.T
	x.T = y
	if !t.RequiresGrad() {
		return nil
	}
	if err := RequireGrad(fn, y); err != nil {
		return err
	}
	y.Auto.Hooks = t.Auto.Hooks
	return nil
}

// RequireGrad makes t, a leaf, require grad. If it was a view, the tensor it shows
// no longer has a say in its history: a change of one is none of the other's.
func RequireGrad(fn string, t *tensor.Tensor) error {
	if !t.DType().Differentiable() {
		return &op.ArgError{Func: fn, Param: "requires_grad", Got: "True for " + op.Describe(t), Want: "a float dtype", Rule: "only floats have gradients"}
	}
	if t.Auto == nil {
		t.Auto = &tensor.Auto{}
	}
	t.Auto.Requires = true
	t.Base, t.Changes = nil, 0
	return nil
}
