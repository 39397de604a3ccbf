package shard

import (
	"math"
	"testing"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A decision is found again for a call like the one that it was made for, by its slot and by its
// key, and for no other.
func TestMemo(t *testing.T) {
	m, err := mesh.New([]int{1}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	place := func(p mesh.Placement) *mesh.Placed {
		l, err := mesh.Place(m, []int{2, 2}, []mesh.Placement{p})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	rows, whole := place(mesh.Shard(0)), place(mesh.Replicate())
	on := func(l *mesh.Placed, dt dtype.DType) *tensor.Tensor {
		return tensor.NewPlaced(l, tensor.ShapeOnly(dt, shape.Shape{2, 2}))
	}
	type call struct {
		name  string
		float dtype.DType
		d     *op.Def
		in    []*tensor.Tensor
		args  []op.Arg
	}
	add, sub := op.Lookup("add"), op.Lookup("sub")
	f32 := func() *tensor.Tensor { return on(rows, dtype.Float32) }
	calls := []call{
		{"two tensors", dtype.Float32, add, []*tensor.Tensor{f32(), f32()}, nil},
		{"another operator", dtype.Float32, sub, []*tensor.Tensor{f32(), f32()}, nil},
		{"another default", dtype.Float64, add, []*tensor.Tensor{f32(), f32()}, nil},
		{"another dtype", dtype.Float32, add, []*tensor.Tensor{f32(), on(rows, dtype.Float64)}, nil},
		{"another layout", dtype.Float32, add, []*tensor.Tensor{f32(), on(whole, dtype.Float32)}, nil},
		{"layouts exchanged", dtype.Float32, add, []*tensor.Tensor{on(whole, dtype.Float32), f32()}, nil},
		{"a float", dtype.Float32, add, []*tensor.Tensor{f32(), tensor.Number(1.5)}, nil},
		{"an int", dtype.Float32, add, []*tensor.Tensor{f32(), tensor.Number(int64(2))}, nil},
		{"None", dtype.Float32, add, []*tensor.Tensor{f32(), nil}, nil},
		{"one tensor", dtype.Float32, add, []*tensor.Tensor{f32()}, nil},
		{"an int argument", dtype.Float32, add, []*tensor.Tensor{f32()}, []op.Arg{op.Int1(1)}},
		{"another int argument", dtype.Float32, add, []*tensor.Tensor{f32()}, []op.Arg{op.Int1(2)}},
		{"no argument", dtype.Float32, add, []*tensor.Tensor{f32()}, []op.Arg{op.None}},
		{"a float argument", dtype.Float32, add, []*tensor.Tensor{f32()}, []op.Arg{op.Float1(0)}},
		{"a negative zero", dtype.Float32, add, []*tensor.Tensor{f32()}, []op.Arg{op.Float1(math.Copysign(0, -1))}},
		{"a text", dtype.Float32, add, []*tensor.Tensor{f32()}, []op.Arg{op.Str1("a")}},
		{"ints", dtype.Float32, add, []*tensor.Tensor{f32()}, []op.Arg{op.IntsN(1, 2)}},
		{"other ints", dtype.Float32, add, []*tensor.Tensor{f32()}, []op.Arg{op.IntsN(1)}},
	}
	memo := memo{all: map[string]*decision{}}
	get := func(c *call) *decision { return memo.get(&op.Ctx{Float: c.float}, c.d, m, c.in, c.args) }
	decisions := make([]*decision, len(calls))
	for i := range calls {
		c := &calls[i]
		if got := get(c); got != nil {
			t.Fatalf("%s: got a decision for another call, want none", c.name)
		}
		dec := &decision{call: &op.Call{Def: c.d, In: c.in, Args: c.args}, float: c.float, mesh: m}
		for _, x := range c.in {
			var from *mesh.Placed
			if x != nil {
				from = x.Layout()
			}
			dec.from = append(dec.from, from)
		}
		memo.put(string(memo.key), dec)
		decisions[i] = dec
	}
	for range 2 { // by the key, and then by the slot
		for i := range calls {
			if got := get(&calls[i]); got != decisions[i] {
				t.Errorf("%s: got another decision than the one that was put", calls[i].name)
			}
			for j := range calls {
				if fits := decisions[j].fits(&op.Ctx{Float: calls[i].float}, calls[i].d, calls[i].in, calls[i].args); fits != (i == j) {
					t.Errorf("the decision for %s fits %s: got %v, want %v", calls[j].name, calls[i].name, fits, i == j)
				}
			}
		}
	}
	for i := range maxDecisions {
		memo.put(string(rune(i)), decisions[0])
	}
	if len(memo.all) > maxDecisions || memo.latest != [len(memo.latest)]*decision{} {
		t.Errorf("%d decisions are kept, or some of the latest, want at most %d and none", len(memo.all), maxDecisions)
	}
}
