package tensor

import (
	"runtime"
	"testing"
	"weak"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
)

// A tensor that shares the storage of another keeps that storage, and not the record by
// which the other was made: a program that keeps x.detach() of every step keeps no step.
func TestSharingKeepsNoRecord(t *testing.T) {
	m, err := mesh.New([]int{1}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := mesh.Place(m, []int{2, 3}, []mesh.Placement{mesh.Shard(0)})
	if err != nil {
		t.Fatal(err)
	}
	plain := func() *Tensor {
		x, err := New(NewAllocator(0), dtype.Float32, shape.Shape{2, 3})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	placed := func() *Tensor { return NewPlaced(l, plain()) }
	for _, c := range []struct {
		name  string
		of    func() *Tensor
		share func(x *Tensor) *Tensor
	}{
		{"Detach of a plain tensor", plain, (*Tensor).Detach},
		{"Detach of a distributed tensor", placed, (*Tensor).Detach},
		{"View of a plain tensor", plain, func(x *Tensor) *Tensor { return x.View(x.Shape(), x.Strides(), 0) }},
		{"Detach of a block", placed, func(x *Tensor) *Tensor { return x.Local().Detach() }},
		{"NewPlaced of a block", placed, func(x *Tensor) *Tensor { return NewPlaced(l, x.Local()) }},
		{"Relay to a block", placed, func(x *Tensor) *Tensor { y := placed(); y.Relay(l, x.Local()); return y }},
	} {
		x := c.of()
		x.Auto = &Auto{Requires: true}
		record := weak.Make(x.Auto)
		y := c.share(x)
		if y.Buffer() != x.Buffer() || !y.Local().Shape().Equal(x.Local().Shape()) || y.Local().Strides()[0] != 3 {
			t.Errorf("%s: got %v strides %v on other storage, want the same", c.name, y.Local().Shape(), y.Local().Strides())
		}
		runtime.GC()
		if record.Value() != nil {
			t.Errorf("%s: it keeps the record of the tensor that it was made of", c.name)
		}
		runtime.KeepAlive(y)
	}
}
