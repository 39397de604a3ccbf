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
