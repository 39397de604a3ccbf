package embed

import (
	"fmt"
	"reflect"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A Tensor is a tensor in Go: its shape, and its elements in the order of rows, a
// []float32, []float64, []int64, []int32, []uint8, []bool, []complex64 or []complex128.
type Tensor struct {
	Shape []int
	Data  any
}

// NewTensor returns a tensor of elements, of which there are as many as the shape
// has.
func NewTensor[T float32 | float64 | int64 | int32 | uint8 | bool](elems []T, shape ...int) *Tensor {
	return &Tensor{Shape: shape, Data: elems}
}

// toScript returns a value of Go as one of the program on this rank.
func (e *env) toScript(v any) (starlark.Value, error) {
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case starlark.Value:
		return v, nil
	case string:
		return starlark.String(v), nil
	case *Tensor:
		return e.tensor(v)
	case Tensor:
		return e.tensor(&v)
	case []float32, []float64, []int64, []int32, []uint8, []bool, []complex64, []complex128:
		return e.tensor(&Tensor{Shape: []int{reflect.ValueOf(v).Len()}, Data: v})
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Bool:
		return starlark.Bool(r.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return starlark.MakeInt64(r.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return starlark.MakeUint64(r.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return starlark.Float(r.Float()), nil
	case reflect.Slice, reflect.Array:
		list := make([]starlark.Value, r.Len())
		for i := range list {
			var err error
			if list[i], err = e.toScript(r.Index(i).Interface()); err != nil {
				return nil, fmt.Errorf("at index %d: %w", i, err)
			}
		}
		return starlark.NewList(list), nil
	case reflect.Map:
		return e.dict(r)
	}
	return nil, fmt.Errorf("got a %T, want a bool, a number, a string, a *Tensor, or slices and maps of these", v)
}

// dict returns a map as a dict, with its keys in order if they are strings.
func (e *env) dict(r reflect.Value) (starlark.Value, error) {
	d := starlark.NewDict(r.Len())
	keys := r.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.Kind() == reflect.String && a.String() < b.String() {
			return -1
		}
		return 1
	})
	for _, k := range keys {
		key, err := e.toScript(k.Interface())
		if err != nil {
			return nil, err
		}
		v, err := e.toScript(r.MapIndex(k).Interface())
		if err != nil {
			return nil, fmt.Errorf("at key %v: %w", k, err)
		}
		if err := d.SetKey(key, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// tensor returns t as a tensor of this rank, with storage of its own.
func (e *env) tensor(t *Tensor) (starlark.Value, error) {
	s := shape.Shape(t.Shape)
	if n := reflect.ValueOf(t.Data); n.Kind() != reflect.Slice || n.Len() != s.Numel() {
		return nil, fmt.Errorf("got a %T of %d elements for the shape %v, want %d elements", t.Data, lengthOf(n), t.Shape, s.Numel())
	}
	c := e.Runtime.Ops()
	var x *tensor.Tensor
	var err error
	switch d := t.Data.(type) {
	case []float32:
		x, err = op.FromFloats(c, dtype.Float32, s, widen[float64](d))
	case []float64:
		x, err = op.FromFloats(c, dtype.Float64, s, d)
	case []int64:
		x, err = op.FromInts(c, dtype.Int64, s, d)
	case []int32:
		x, err = op.FromInts(c, dtype.Int32, s, widen[int64](d))
	case []uint8:
		x, err = op.FromInts(c, dtype.Uint8, s, widen[int64](d))
	case []int16:
		x, err = op.FromInts(c, dtype.Int16, s, widen[int64](d))
	case []int8:
		x, err = op.FromInts(c, dtype.Int8, s, widen[int64](d))
	case []uint16:
		x, err = op.FromInts(c, dtype.Uint16, s, widen[int64](d))
	case []uint32:
		x, err = op.FromInts(c, dtype.Uint32, s, widen[int64](d))
	case []uint64:
		x, err = op.FromInts(c, dtype.Uint64, s, widen[int64](d))
	case []bool:
		x, err = op.FromBools(c, dtype.Bool, s, d)
	case []complex64:
		wide := make([]complex128, len(d))
		for i, z := range d {
			wide[i] = complex128(z)
		}
		x, err = op.FromComplex(c, dtype.Complex64, s, wide)
	case []complex128:
		x, err = op.FromComplex(c, dtype.Complex128, s, d)
	default:
		return nil, fmt.Errorf("got a tensor of a %T, want a slice of float32, float64, int8 to int64, uint8 to uint64, bool, complex64 or complex128", t.Data)
	}
	if err != nil {
		return nil, err
	}
	return e.Wrap(x), nil
}

func lengthOf(v reflect.Value) int {
	if v.Kind() == reflect.Slice {
		return v.Len()
	}
	return 0
}

// widen converts numbers to a wider type.
func widen[T float64 | int64, S float32 | dtype.Integer](list []S) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = T(v)
	}
	return out
}

// fromScript returns a value of the program as one of Go; ok is false if there is
// none.
func (e *env) fromScript(v starlark.Value) (x any, ok bool, err error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, true, nil
	case starlark.Bool:
		return bool(v), true, nil
	case starlark.Int:
		n, ok := v.Int64()
		return int(n), ok, nil
	case starlark.Float:
		return float64(v), true, nil
	case starlark.String:
		return string(v), true, nil
	case *builtins.Tensor:
		t, err := e.fromTensor(v)
		return t, err == nil, err
	case *starlark.List, starlark.Tuple:
		list := []any{}
		for elem := range starlark.Elements(v.(starlark.Iterable)) {
			y, ok, err := e.fromScript(elem)
			if err != nil || !ok {
				return nil, false, err
			}
			list = append(list, y)
		}
		return list, true, nil
	case *starlark.Dict:
		m := make(map[string]any)
		for _, item := range v.Items() {
			key, isText := starlark.AsString(item[0])
			y, ok, err := e.fromScript(item[1])
			if err != nil || !ok || !isText {
				return nil, false, err
			}
			m[key] = y
		}
		return m, true, nil
	}
	return nil, false, nil
}

// fromTensor returns a copy of a tensor's elements, of a distributed one those of
// this rank's block.
func (e *env) fromTensor(x *builtins.Tensor) (*Tensor, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	if t.Placed() {
		t = t.Local()
	}
	t = t.Detach()
	if dt := t.DType(); dt.IsHalf() || dt.IsFloat8() {
		if t, err = e.Runtime.Do("to", []*tensor.Tensor{t}, op.Int1(int(dtype.Float32))); err != nil {
			return nil, err
		}
	}
	if t, err = e.Runtime.Do("clone", []*tensor.Tensor{t}); err != nil {
		return nil, err
	}
	if t, err = e.Runtime.Do("contiguous", []*tensor.Tensor{t}); err != nil {
		return nil, err
	}
	out := &Tensor{Shape: slices.Clone([]int(t.Shape()))}
	switch t.DType() {
	case dtype.Float32:
		out.Data = elements[float32](t)
	case dtype.Float64:
		out.Data = elements[float64](t)
	case dtype.Int64:
		out.Data = elements[int64](t)
	case dtype.Int32:
		out.Data = elements[int32](t)
	case dtype.Uint8:
		out.Data = elements[uint8](t)
	case dtype.Int16:
		out.Data = elements[int16](t)
	case dtype.Int8:
		out.Data = elements[int8](t)
	case dtype.Uint16:
		out.Data = elements[uint16](t)
	case dtype.Uint32:
		out.Data = elements[uint32](t)
	case dtype.Uint64:
		out.Data = elements[uint64](t)
	case dtype.Bool:
		out.Data = elements[bool](t)
	case dtype.Complex64:
		out.Data = elements[complex64](t)
	case dtype.Complex128:
		out.Data = elements[complex128](t)
	default:
		return nil, fmt.Errorf("got a tensor of %v, want one of numbers that Go has", t.DType())
	}
	return out, nil
}

// elements returns a copy of the elements of t, which is contiguous.
func elements[T tensor.Element](t *tensor.Tensor) []T {
	if t.Numel() == 0 {
		return []T{}
	}
	return slices.Clone(tensor.Storage[T](t)[t.Offset() : t.Offset()+t.Numel()])
}
