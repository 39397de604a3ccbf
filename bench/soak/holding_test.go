package main

import (
	"os"
	"testing"
)

// Growth is more than a collection of garbage explains.
func TestGrown(t *testing.T) {
	base := holding{100 << 20, 20, 12}
	for _, c := range []struct {
		first, last holding
		want        bool
	}{
		{base, base, false},
		{base, holding{120 << 20, 21, 13}, false},
		{base, holding{140 << 20, 20, 12}, true},
		{base, holding{100 << 20, 22, 12}, true},
		{base, holding{100 << 20, 20, 14}, true},
		{holding{}, base, true},
	} {
		if err := grown(c.first, c.last); (err != nil) != c.want {
			t.Errorf("from %v to %v: got %v, want an error: %v", c.first, c.last, err, c.want)
		}
	}
}

// The first and the last third are told apart, without the beginning.
func TestThirds(t *testing.T) {
	looks := make([]holding, 100)
	for i := range looks {
		looks[i] = holding{i, 100 - i, 1}
	}
	first, last := thirds(looks)
	if first != (holding{32, 90, 1}) || last != (holding{97, 33, 1}) {
		t.Errorf("got %v and %v", first, last)
	}
}

// A process holds memory, descriptors and threads, and is that of its parent.
func TestHoldingOf(t *testing.T) {
	h, ok := holdingOf(os.Getpid())
	if !ok {
		t.Skip("no /proc on this system")
	}
	if h.memory < 1<<20 || h.descriptors < 3 || h.threads < 1 {
		t.Errorf("got %v", h)
	}
	if got := parentOf(os.Getpid()); got != os.Getppid() {
		t.Errorf("got parent %d, want %d", got, os.Getppid())
	}
}
