package op_test

import (
	goruntime "runtime"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Heads that share keys and values do so without copies of them, and compute one after
// another in one room.
func TestAttentionTakesNoCopies(t *testing.T) {
	const heads, keys, size = 16, 4096, 16
	c := &op.Ctx{Alloc: tensor.NewAllocator(0)}
	input := func(s ...int) *tensor.Tensor {
		x, err := tensor.New(c.Alloc, dtype.Float32, shape.Shape(s))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	q, k, v := input(heads, 1, size), input(1, keys, size), input(1, keys, size)
	grouped := []op.Arg{op.Float1(0), op.Bool1(false), {}, op.Bool1(true), {}}
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	if _, err := op.Apply(c, op.Lookup("scaled_dot_product_attention"), []*tensor.Tensor{q, k, v, nil}, grouped); err != nil {
		t.Fatal(err)
	}
	goruntime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4*keys*size {
		t.Errorf("%d heads on one of %d bytes of keys took %d bytes, want less than those", heads, 4*keys*size, got)
	}
	if got := after.Mallocs - before.Mallocs; got > 6*heads {
		t.Errorf("%d heads took %d pieces of memory, want fewer than 6 each", heads, got)
	}
}
