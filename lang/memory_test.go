package lang

import (
	"testing"
	"time"
)

// Where processes share cores, a watch looks less often while nothing grows, and at once as often as ever
// when something does, or when programs are to end.
func TestWatchRests(t *testing.T) {
	for _, c := range []struct {
		sharing      int
		every        time.Duration
		grown        int
		over         bool
		want, longer time.Duration // after one look, and after many alike
	}{
		{0, watchEvery, 0, false, watchEvery, watchEvery},
		{1, watchEvery, 0, false, watchEvery, watchEvery},
		{4, watchEvery, 0, false, 2 * watchEvery, 4 * watchEvery},
		{500, watchEvery, 0, false, 2 * watchEvery, watchSeldom},
		{500, watchSeldom, -1 << 30, false, watchSeldom, watchSeldom},
		{500, watchSeldom, 2 * quiet, false, watchEvery, watchEvery},
		{500, watchSeldom, 0, true, watchEvery, watchEvery},
	} {
		w := &Watch{Sharing: c.sharing}
		if c.over {
			w.over = time.Now()
		}
		every := w.next(c.every, c.grown)
		if every != c.want {
			t.Errorf("%+v: got %v, want %v", c, every, c.want)
		}
		for range 20 {
			every = w.next(every, c.grown)
		}
		if every != c.longer {
			t.Errorf("%+v: got %v after many looks, want %v", c, every, c.longer)
		}
	}
}

// While a collection is waited for, which tells what of the memory is reachable, a program may
// fill what is left of it: the watch looks on, and where nothing is left it waits for none.
func TestNothingIsLeft(t *testing.T) {
	room, outside := 1<<30, 1<<30
	w := &Watch{Limit: 1 << 20, Room: func() int { return room }, Outside: func() int { return outside }, part: 1 << 30}
	pending := make(chan int, 1)
	w.reached = pending
	if w.exceeds() {
		t.Error("with room, while a collection is waited for: programs are ended, want them to go on")
	}
	room = 0
	if !w.exceeds() {
		t.Error("without room, while a collection is waited for: programs go on, want them ended")
	}
	if pending <- 0; !w.exceeds() || w.reached != nil {
		t.Error("after a collection: programs go on with 1 GiB in use and 1 MiB allowed, want them ended")
	}
	w.reached, outside = pending, 0
	if pending <- 0; w.exceeds() || w.reached != nil {
		t.Error("after a collection that left nothing in use: programs are ended, want them to go on")
	}
	if outside = 1 << 30; !w.exceeds() || w.reached != nil {
		t.Error("without room: a collection is waited for, want programs ended at once")
	}
	room = 1 << 30
	if w.exceeds() || w.reached == nil {
		t.Error("with room, beyond the limit: no collection is begun, want one before programs are ended")
	}
}

// A program that begins is not held to what the ones before it had, though a collection that
// was asked for then ends only now.
func TestProgramsBeforeAreForgotten(t *testing.T) {
	w := &Watch{Limit: 1 << 30}
	w.reached = make(chan int, 1)
	w.reached <- 1 << 40
	end := w.begin(nil, nil, nil)
	defer end()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exceeds() {
		t.Error("a program that has nothing is ended for what the one before it had")
	}
}
