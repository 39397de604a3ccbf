package process

import (
	"testing"

	"tpsh/comm/wire"
)

// A rank takes up no ring of those with which it shares memory until it sends something: of a thousand
// ranks that would be most of what each has to do and to keep when it starts.
func TestRingsOnFirstUse(t *testing.T) {
	const size = 40
	options, o := sharedOptions(size)
	links := make([]*Links, size)
	for r := range links {
		l, err := Connect(options[r])
		if err != nil {
			t.Fatal(err)
		}
		links[r] = l
	}
	s := Supervise(o)
	defer func() {
		for _, l := range links {
			l.Close()
		}
		s.Close()
	}()
	used := func() (n int) {
		for _, out := range links[3].writers {
			if w, ok := out.(*ringWriter); ok && w.out.Load() != nil {
				n++
			}
		}
		return n
	}
	if got := used(); got != 0 {
		t.Errorf("at the start: got %d rings that are used, want 0", got)
	}
	for range 2 {
		links[3].writers[7].Send(wire.Frame{Type: wire.FrameVerdict, Generation: 1}, nil, nil)
	}
	if got := used(); got != 1 {
		t.Errorf("after two messages to one rank: got %d rings that are used, want 1", got)
	}
}
