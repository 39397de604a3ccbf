package grad_test

import (
	goruntime "runtime"
	"testing"
	"weak"

	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The record of an operator whose gradient does not read its result keeps no storage of it.
func TestRecordKeepsNoUnreadResult(t *testing.T) {
	alloc := tensor.NewAllocator(0)
	r := grad.New(&op.Ctx{Alloc: alloc, Float: dtype.Float32})
	made := func(s shape.Shape) *tensor.Tensor {
		x, err := tensor.New(alloc, dtype.Float32, s)
		if err != nil {
			t.Fatal(err)
		}
		clear(x.Bytes())
		return x
	}
	column, row := made(shape.Shape{128, 1}), made(shape.Shape{1, 128})
	column.Auto = &tensor.Auto{Requires: true}
	for name, apply := range map[string]func(d *op.Def) (*tensor.Tensor, error){
		"Operate": func(d *op.Def) (*tensor.Tensor, error) { return r.Operate(d, column, row, nil, nil) },
		"ApplyInto": func(d *op.Def) (*tensor.Tensor, error) {
			return r.ApplyInto(d, []*tensor.Tensor{column, row}, nil, new(tensor.Header), nil)
		},
		"ApplyOne": func(d *op.Def) (*tensor.Tensor, error) { return r.ApplyOne(d, []*tensor.Tensor{column, row}, nil) },
	} {
		y, err := apply(op.Lookup("add"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := r.ApplyOne(op.Lookup("mul"), []*tensor.Tensor{y, tensor.Number(2.0)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		storage := weak.Make(y.Buffer())
		y = nil
		goruntime.GC()
		if storage.Value() != nil {
			t.Errorf("%s: the record of add keeps the storage of its result", name)
		}
		goruntime.KeepAlive(z)
	}
}
