package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// What PyTorch tells of a tensor's elements, by attributes and by methods without
// arguments. Of a distributed tensor it is told of the whole.
func init() {
	Register(
		toldRow("element_size", "the bytes of an element", "4", func(t *tensor.Tensor) starlark.Value { return starlark.MakeInt(t.DType().Size()) }),
		toldRow("nelement", "the number of elements, as numel() does", "6", func(t *tensor.Tensor) starlark.Value { return starlark.MakeInt(t.Numel()) }),
		toldRow("ndimension", "the number of dims, as dim() does", "2", func(t *tensor.Tensor) starlark.Value { return starlark.MakeInt(t.Ndim()) }),
		toldRow("is_floating_point", "whether the elements are floats", "True", func(t *tensor.Tensor) starlark.Value { return starlark.Bool(t.DType().IsFloat()) }),
		toldRow("is_signed", "whether the elements may be negative", "True", func(t *tensor.Tensor) starlark.Value { return starlark.Bool(t.DType().Signed()) }),
		toldRow("storage_offset", "where in its storage the first element lies, of a distributed tensor in this rank's block", "0",
			func(t *tensor.Tensor) starlark.Value {
				if t.Placed() {
					t = t.Local()
				}
				return starlark.MakeInt(t.Offset())
			}),
		toldRow("get_device", "-1, the number of the processor", "-1", func(*tensor.Tensor) starlark.Value { return starlark.MakeInt(-1) }),
		tensorRow("itemsize", "itemsize is the bytes of an element.\n>>> zeros(2, dtype=bfloat16).itemsize\n2",
			func(_ *Env, t *tensor.Tensor) (starlark.Value, error) { return starlark.MakeInt(t.DType().Size()), nil }),
		tensorRow("nbytes", "nbytes is the bytes of all elements.\n>>> zeros(2, 3).nbytes\n24",
			func(_ *Env, t *tensor.Tensor) (starlark.Value, error) {
				return starlark.MakeInt64(int64(t.Numel()) * int64(t.DType().Size())), nil
			}),
		tensorRow("is_cuda", "is_cuda is False: the only device is the processor of the rank.\n>>> zeros(2).is_cuda\nFalse",
			func(*Env, *tensor.Tensor) (starlark.Value, error) { return starlark.False, nil }),
		tensorRow("is_meta", "is_meta is whether the tensor has a shape and no elements.\n>>> zeros(2).is_meta\nFalse",
			func(_ *Env, t *tensor.Tensor) (starlark.Value, error) { return starlark.Bool(t.Buffer() == nil), nil }),
		tensorRow("data", "data is the tensor without its part in differentiation, on the same storage, as detach() gives it.\n>>> ones(1, requires_grad=True).data.requires_grad\nFalse",
			func(e *Env, t *tensor.Tensor) (starlark.Value, error) { return detached(e, t), nil }),
		methodRow("is_nonzero", "is_nonzero() returns whether the one element is not zero.\n>>> tensor([2.0]).is_nonzero()\nTrue",
			func(_ *Env, fn string, x *Tensor, _ *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				if err := arg.Unpack(fn, args, kwargs); err != nil {
					return nil, err
				}
				yes, err := x.truth()
				return starlark.Bool(yes), err
			}),
		methodRow("is_same_size", "is_same_size(other) returns whether the two have one shape, of distributed tensors as wholes.\n>>> ones(2, 3).is_same_size(zeros(2, 3))\nTrue",
			func(e *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				var v starlark.Value
				if err := arg.Unpack(fn, args, kwargs, "other", &v); err != nil {
					return nil, err
				}
				other, err := e.TensorArg(fn, "other", v)
				if err != nil {
					return nil, err
				}
				return starlark.Bool(t.Shape().Equal(other.Shape())), nil
			}),
		methodRow("new_tensor", "new_tensor(data, dtype=None, requires_grad=False, device=None) returns tensor(data), of the dtype of x unless one is given.\n>>> ones(1, dtype=float64).new_tensor([1, 2]).dtype\nfloat64",
			func(e *Env, fn string, x *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				var (
					data     starlark.Value
					dt       = arg.OptDType{Set: true, V: arg.DType{D: t.DType()}}
					requires arg.Bool
				)
				if err := arg.Unpack(fn, args, kwargs, "data", &data, "dtype?", &dt, "requires_grad?", &requires, "device?", Device{}); err != nil {
					return nil, err
				}
				if !dt.Set {
					dt = arg.OptDType{Set: true, V: arg.DType{D: t.DType()}}
				}
				y, err := FromNested(e, data, dt)
				if err != nil {
					return nil, arg.In(fn, "data", err)
				}
				if requires {
					if err := RequireGrad(fn, y); err != nil {
						return nil, err
					}
				}
				return e.Wrap(y), nil
			}),
		&Row{Name: "is_floating_point", Fn: askDType(dtype.DType.IsFloat),
			Doc: "is_floating_point(x) returns whether the elements of x are floats.\n>>> is_floating_point(ones(1)), is_floating_point(tensor([1]))\n(True, False)"},
		&Row{Name: "is_complex", Fn: askDType(dtype.DType.IsComplex),
			Doc: "is_complex(x) returns whether the elements of x are complex.\n>>> is_complex(ones(1))\nFalse"},
		&Row{Name: "is_tensor", Fn: isTensor,
			Doc: "is_tensor(x) returns whether x is a tensor.\n>>> is_tensor(ones(1)), is_tensor(1)\n(True, False)"},
		&Row{Name: "numel", Fn: numelOf,
			Doc: "numel(x) returns the number of elements of x.\n>>> numel(zeros(2, 3))\n6"},
	)
}

// toldRow returns the row of a method without arguments, which returns get of its tensor.
// example is what it returns for ones(2, 3).
func toldRow(name, returns, example string, get func(t *tensor.Tensor) starlark.Value) *Row {
	return methodRow(name, name+"() returns "+returns+".\n>>> ones(2, 3)."+name+"()\n"+example,
		func(_ *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return get(t), arg.Unpack(fn, args, kwargs)
		})
}

// askDType returns a function that asks something of the dtype of its argument.
func askDType(is func(dtype.DType) bool) Function {
	return func(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		t, err := onlyTensor(e, b.Name(), args, kwargs)
		if err != nil {
			return nil, err
		}
		return starlark.Bool(is(t.DType())), nil
	}
}

func numelOf(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	t, err := onlyTensor(e, b.Name(), args, kwargs)
	if err != nil {
		return nil, err
	}
	return starlark.MakeInt(t.Numel()), nil
}

// onlyTensor returns the one argument x of fn, a tensor.
func onlyTensor(e *Env, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (*tensor.Tensor, error) {
	var v starlark.Value
	if err := arg.Unpack(fn, args, kwargs, "x|input", &v); err != nil {
		return nil, err
	}
	return e.TensorArg(fn, "x", v)
}

func isTensor(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "x|obj", &v); err != nil {
		return nil, err
	}
	_, ok := v.(*Tensor)
	return starlark.Bool(ok), nil
}
