package tensor

import (
	"errors"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
)

// Memory that is lent is opened and counted once, never written to, and copied by
// who changes it.
func TestLent(t *testing.T) {
	a := NewAllocator(1 << 20)
	a.Large, a.Poison, a.Guard = 1, true, true
	data, opened := []byte{1, 2, 3, 4}, 0
	open := func() ([]byte, func(), error) {
		opened++
		return data, func() { t.Error("released") }, nil
	}
	var all [3]*Buffer
	for i := range all {
		var err error
		if all[i], err = a.Lend("x", open); err != nil {
			t.Fatal(err)
		}
	}
	if now, _ := a.InUse(); opened != 1 || now != len(data) {
		t.Errorf("got %d times opened and %d bytes in use, want once and %d", opened, now, len(data))
	}
	x := NewOn(all[0], dtype.Uint8, shape.Shape{4})
	if err := all[0].Own(); err != nil {
		t.Fatal(err)
	}
	x.Bytes()[0] = 9
	if data[0] != 1 || all[1].data[0] != 1 || all[0].data[0] != 9 {
		t.Errorf("got %d in the memory lent, %d for another buffer and %d for the one changed, want 1, 1 and 9", data[0], all[1].data[0], all[0].data[0])
	}
	all[0].Drop(nil)
	all[1].Drop(nil)
	if err := all[2].Own(); err != nil || &all[2].data[0] == &data[0] {
		t.Errorf("the last buffer would write to the memory lent (%v)", err)
	}
}

func TestLentTooMuch(t *testing.T) {
	a, released := NewAllocator(10), false
	_, err := a.Lend("x", func() ([]byte, func(), error) { return make([]byte, 11), func() { released = true }, nil })
	if !errors.As(err, new(*MemoryError)) || !released {
		t.Errorf("got %v, released %v, want a MemoryError and true", err, released)
	}
	if now, _ := a.InUse(); now != 0 {
		t.Errorf("got %d bytes in use, want 0", now)
	}
}
