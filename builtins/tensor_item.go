package builtins

import (
	goruntime "runtime"

	"go.starlark.net/starlark"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// elementOf returns the element of t at index at of its buffer.
func elementOf(t *tensor.Tensor, at int) starlark.Value {
	defer goruntime.KeepAlive(t)
	switch t.DType() {
	case dtype.Float32:
		return starlark.Float(tensor.Storage[float32](t)[at])
	case dtype.Float64:
		return starlark.Float(tensor.Storage[float64](t)[at])
	case dtype.Float16:
		return starlark.Float(tensor.Storage[dtype.F16](t)[at].Float32())
	case dtype.BFloat16:
		return starlark.Float(tensor.Storage[dtype.BF16](t)[at].Float32())
	case dtype.Int64:
		return starlark.MakeInt64(tensor.Storage[int64](t)[at])
	case dtype.Int32:
		return starlark.MakeInt64(int64(tensor.Storage[int32](t)[at]))
	case dtype.Uint8:
		return starlark.MakeInt64(int64(tensor.Storage[uint8](t)[at]))
	case dtype.Int16:
		return starlark.MakeInt64(int64(tensor.Storage[int16](t)[at]))
	case dtype.Int8:
		return starlark.MakeInt64(int64(tensor.Storage[int8](t)[at]))
	case dtype.Uint16:
		return starlark.MakeInt64(int64(tensor.Storage[uint16](t)[at]))
	case dtype.Uint32:
		return starlark.MakeInt64(int64(tensor.Storage[uint32](t)[at]))
	case dtype.Uint64:
		return starlark.MakeUint64(tensor.Storage[uint64](t)[at])
	case dtype.Float8E4M3FN:
		return starlark.Float(tensor.Storage[dtype.F8E4M3](t)[at].Float32())
	case dtype.Float8E5M2:
		return starlark.Float(tensor.Storage[dtype.F8E5M2](t)[at].Float32())
	case dtype.Complex64:
		return complexNumber(tensor.Storage[complex64](t)[at])
	case dtype.Complex128:
		return complexNumber(tensor.Storage[complex128](t)[at])
	}
	return starlark.Bool(tensor.Storage[bool](t)[at])
}

// item returns the one element of x for the function called fn.
func (x *Tensor) item(fn string) (starlark.Value, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	if t, err = onlyElement(x.Env, fn, t, ""); err != nil {
		return nil, err
	}
	if t.Hollow() {
		return unknownOf(x.Env, t.DType()), nil
	}
	return elementOf(t, t.Offset()), nil
}

// oneElement returns an error if t has no elements, several, or no storage.
func oneElement(fn string, t *tensor.Tensor, rule string) error {
	switch {
	case t.Numel() != 1:
		return &op.ArgError{Func: fn, Got: op.Describe(t), Want: "a tensor of one element", Rule: rule}
	case t.Buffer() == nil:
		return &op.ArgError{Func: fn, Got: op.Describe(t) + " without data", Want: "a tensor with data", Rule: "only its shape is computed"}
	}
	return nil
}

// onlyElement is oneElement, and returns t with its element at hand: that of a
// distributed tensor every rank of the mesh gets.
func onlyElement(e *Env, fn string, t *tensor.Tensor, rule string) (*tensor.Tensor, error) {
	if err := oneElement(fn, t, rule); err != nil {
		return nil, err
	}
	return e.Whole(fn, t)
}

// truthOf returns whether the one element of t is not zero.
func truthOf(e *Env, t *tensor.Tensor) (bool, error) {
	t, err := onlyElement(e, "bool", t, "of many elements it is .any() or .all() that has a truth; .item() gives the one element")
	if err != nil {
		return false, err
	}
	if t.Hollow() {
		return false, &undecidedError{"the truth of a tensor"}
	}
	switch v := elementOf(t, t.Offset()).(type) {
	case starlark.Float:
		return v != 0, nil // NaN is true
	case starlark.Int:
		return v.Sign() != 0, nil
	case starlark.Bool:
		return bool(v), nil
	case complexNumber:
		return v != 0, nil
	}
	panic("builtins: an element that is no number")
}

// truth returns whether the one element of x is not zero.
func (x *Tensor) truth() (bool, error) {
	t, err := x.Tensor()
	if err != nil {
		return false, err
	}
	return truthOf(x.Env, t)
}
