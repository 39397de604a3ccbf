package tensor

import (
	"errors"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
)

// TestDrop drops buffers of both kinds: the memory is back at once, views see what
// they are refilled with, and the version stays.
func TestDrop(t *testing.T) {
	for _, n := range []int{0, 3, 100, largeSize} {
		a := NewAllocator(0)
		x, err := New(a, dtype.Float32, shape.Shape{n})
		if err != nil {
			t.Fatal(err)
		}
		x.Buffer().Changed()
		view := x.View(shape.Shape{n, 1}, []int{1, 1}, 0)
		used, _ := a.InUse()
		if want := 0; n == largeSize && used <= want {
			t.Errorf("%d elements: %d bytes in use, want more than %d", n, used, want)
		}
		b, gone := x.Buffer(), errors.New("gone")
		b.Drop(func() error { return gone })
		b.Drop(func() error { return errors.New("dropped twice") })
		if used, _ := a.InUse(); used != 0 || !b.Dropped() || b.Len() != 4*n {
			t.Errorf("%d elements, dropped: %d bytes in use, Dropped %v, Len %d, want 0, true, %d", n, used, b.Dropped(), b.Len(), 4*n)
		}
		if err := b.Restore(); err != gone {
			t.Errorf("%d elements: Restore = %v, want %v", n, err, gone)
		}
		if err := b.Refill(); err != nil {
			t.Fatal(err)
		}
		if now, _ := a.InUse(); now != used || b.Dropped() || b.Version() != 1 {
			t.Errorf("%d elements, refilled: %d bytes in use, Dropped %v, version %d, want %d, false, 1", n, now, b.Dropped(), b.Version(), used)
		}
		if err := b.Restore(); err != nil {
			t.Errorf("%d elements: Restore of what is there = %v", n, err)
		}
		for i := range n {
			Data[float32](x)[i] = float32(i)
		}
		for i, v := range Data[float32](view) {
			if v != float32(i) {
				t.Fatalf("%d elements: the view has %v at %d, want %d", n, v, i, i)
			}
		}
	}
}

// TestRefillWithoutMemory refills a buffer when something else has taken its room.
func TestRefillWithoutMemory(t *testing.T) {
	a := NewAllocator(largeSize)
	b, err := a.Alloc(largeSize)
	if err != nil {
		t.Fatal(err)
	}
	b.Drop(func() error { return b.Refill() })
	other, err := a.Alloc(largeSize)
	if err != nil {
		t.Fatal(err)
	}
	var m *MemoryError
	if err := b.Restore(); !errors.As(err, &m) {
		t.Errorf("Restore = %v, want a MemoryError", err)
	}
	other.Drop(nil)
	if err := b.Restore(); err != nil {
		t.Error(err)
	}
}

// A gradient that is forgotten gives its storage back, unless somebody else may
// have it or an asynchronous call reads it.
func TestForget(t *testing.T) {
	for _, c := range []struct{ sole, held, back bool }{{true, false, true}, {false, false, false}, {true, true, false}} {
		a := NewAllocator(0)
		g, err := New(a, dtype.Float32, shape.Shape{largeSize})
		if err != nil {
			t.Fatal(err)
		}
		if c.held {
			g.Buffer().Hold(func() error { return nil })
		}
		auto := &Auto{Grad: g, Sole: c.sole}
		auto.Forget()
		if used, _ := a.InUse(); (used == 0) != c.back || auto.Grad != nil || auto.Sole {
			t.Errorf("%+v: %d bytes in use, gradient %v, sole %v", c, used, auto.Grad, auto.Sole)
		}
	}
}
