package operator

import (
	"testing"

	"go.starlark.net/starlark"

	"tpsh/lang/source"
)

// runAsking is run on a thread that has ask asked.
func runAsking(text string, ask func(bytes func(int) int)) (starlark.StringDict, error) {
	f, err := source.Parse("f.star", text, source.Options{Dialect: dialect})
	if err != nil {
		return nil, err
	}
	core, err := source.Lower(f)
	if err != nil {
		return nil, err
	}
	prog, err := starlark.FileProgram(core, Library.Has)
	if err != nil {
		return nil, err
	}
	thread := new(starlark.Thread)
	thread.SetLocal(GrowthKey, ask)
	return prog.Init(thread, Library)
}

// What a comprehension asks for is bounded by the elements that have come, and by how much the heap has
// grown meanwhile.
func TestPaceAsks(t *testing.T) {
	for _, c := range []struct {
		keyed, nested bool
		next          uint
		heap, want    int
	}{
		{false, false, 80, 1 << 30, 100 * 16}, {false, false, 80, 1000 + 400, 500}, {false, false, 80, 0, 0},
		{false, true, 80, 1000 + 400, 500}, {false, true, 80, 1000 + 1<<30, 1<<30 + 1<<28},
		{true, false, 106_496, 1 << 30, 16384 * 456}, {true, false, 106_497, 1 << 30, 32768 * 456}, {true, false, 106_496, 1000 + 400, 800},
		{true, true, 1, 1000 + 400, 800},
	} {
		it := &pacedIterator{paced: &paced{keyed: c.keyed, nested: c.nested}, begun: 1000, next: c.next}
		if got := it.bytes(c.heap); got != c.want {
			t.Errorf("%+v: got %d bytes, want %d", c, got, c.want)
		}
	}
}

// The elements of a paced comprehension are those that they were.
func TestPaceChangesNothing(t *testing.T) {
	for _, c := range []struct{ stmt, want string }{
		{"x = len([i for i in range(1 << 18) if i % 2])", "131072"}, {"x = len({i: 1 for i in range(1 << 18)})", "262144"}, {"x = len({i: 1 for i in list(range(100000)) if i < 5})", "5"},
		{"x = [i for i in range(100000) for _ in range(2)][-3:]", "[99998, 99999, 99999]"}, {"l = list(range(70000))\nx = [l for l in l if l < 3]", "[0, 1, 2]"},
	} {
		asked := 0
		globals, err := runAsking(c.stmt, func(bytes func(int) int) { bytes(0); asked++ })
		if err != nil {
			t.Errorf("%s: %v", c.stmt, err)
		} else if got := str(globals["x"]); got != c.want || asked < 2 {
			t.Errorf("%s\ngot  %s, asked %d times\nwant %s", c.stmt, got, asked, c.want)
		}
	}
	if _, err := run("x = [i for i in 5 if i]"); err == nil || err.Error() != "int value is not iterable" {
		t.Errorf("got %v, want that 5 is not iterable", err)
	}
}
