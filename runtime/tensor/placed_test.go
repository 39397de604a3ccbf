package tensor

import (
	"testing"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
)

// A tensor that is laid out anew is the same tensor: its shape, its Auto, its Lens
// and the count of its changes stay, and its block is the new one.
func TestRelay(t *testing.T) {
	m, err := mesh.New([]int{1}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	place := func(p mesh.Placement) *mesh.Placed {
		l, err := mesh.Place(m, []int{2, 3}, []mesh.Placement{p})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	block := func() *Tensor {
		x, err := New(NewAllocator(0), dtype.Float32, shape.Shape{2, 3})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := NewPlaced(place(mesh.Replicate()), block())
	x.Auto, x.Lens = &Auto{Requires: true}, "lens"
	x.Buffer().Changed()
	auto, rows, local := x.Auto, place(mesh.Shard(0)), block()
	x.Relay(rows, local)
	if x.Layout() != rows || x.Local().Buffer() != local.Buffer() || x.Buffer() != local.Buffer() {
		t.Errorf("got layout %v and another block, want %v and the one given", x.Layout(), rows)
	}
	if x.Auto != auto || x.Lens != "lens" || x.Buffer().Version() != 1 {
		t.Errorf("got Auto %p, Lens %v, version %d, want %p, lens, 1", x.Auto, x.Lens, x.Buffer().Version(), auto)
	}
	if y := x.Detach(); y.Lens != "lens" || y.Auto != nil {
		t.Errorf("Detach: got Lens %v and Auto %v, want lens and nil", y.Lens, y.Auto)
	}
	for name, f := range map[string]func(){
		"a plain tensor": func() { block().Relay(rows, block()) },
		"another shape": func() {
			l, err := mesh.Place(m, []int{3, 2}, []mesh.Placement{mesh.Replicate()})
			if err != nil {
				t.Fatal(err)
			}
			x.Relay(l, block())
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Relay of %s: got no panic", name)
				}
			}()
			f()
		}()
	}
}
