package halt

import (
	"fmt"
	"slices"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// one is the Sources of a program in one file.
type one struct{ lines *Map }

func (o one) Lines(string) *Map           { return o.lines }
func (o one) Same(name, path string) bool { return name == path }

var options = &syntax.FileOptions{While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// stops runs a program and returns the lines at which it stops: at breakpoints, and
// from each stop on by the next of steps.
func stops(t *testing.T, source string, breaks []int, steps ...Step) []int {
	t.Helper()
	parse := func() *syntax.File {
		f, err := options.Parse("a.star", source, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	e := NewEngine(one{NewMap(parse())})
	o := &Orders{}
	for i, line := range breaks {
		o.Breaks = append(o.Breaks, Break{ID: i + 1, File: "a.star", Line: line})
	}
	if len(breaks) == 0 {
		o.Step = In
	}
	e.Order(o)
	thread := new(starlark.Thread)
	var lines []int
	stop := func(s *Stop) {
		if s == nil {
			return
		}
		lines = append(lines, int(thread.DebugFrame(0).Position().Line))
		e.Stopped()
		next := Go
		if len(steps) > 0 {
			next, steps = steps[0], steps[1:]
		}
		e.Order(&Orders{Breaks: o.Breaks, Step: next})
		e.GoesOn(thread.CallStackDepth())
	}
	thread.OnMaxSteps = func(t *starlark.Thread) {
		if e.Watching() {
			stop(e.At(t))
		}
	}
	thread.SetMaxExecutionSteps(1)
	f := parse()
	Mark(f, false)
	names := starlark.StringDict{MarkName: arrival{starlark.None, func() { stop(e.Arrive(thread)) }}, "twice": starlark.NewBuiltin("twice", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		for range 2 {
			if _, err := starlark.Call(t, args[0], nil, nil); err != nil {
				return nil, err
			}
		}
		return starlark.None, nil
	})}
	prog, err := starlark.FileProgram(f, names.Has)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prog.Init(thread, names); err != nil {
		t.Fatal(err)
	}
	return lines
}

// An arrival is the value of marks.
type arrival struct {
	starlark.Value
	arrive func()
}

func (a arrival) Truth() starlark.Bool {
	a.arrive()
	return true
}

const program = `def f(x):
    "says so"
    y = 1
    if x:
        return 2

    return g(
        y,
        x)

def g(a, b):
    return a

for i in range(2):
    f(i)
s = [g(k, k) for k in range(3)]
twice(lambda: g(1, 2))
n = 0
while n < 2: n += 1
h = lambda x: (
    lambda: x or
        g(x, 1))
h(0)()
twice(lambda:
    h(1))
`

func TestBreaks(t *testing.T) {
	tests := []struct {
		breaks []int
		steps  []Step
		want   string
	}{
		{[]int{3}, nil, "[3 3]"},
		{[]int{5}, nil, "[5]"},
		{[]int{6}, nil, "[7]"},                     // the next statement
		{[]int{9}, nil, "[7]"},                     // a statement of several lines
		{[]int{12}, nil, "[12 12 12 12 12 12 12]"}, // in loops of all kinds, and from builtin functions
		{[]int{16}, nil, "[16]"},
		{[]int{13}, nil, "[14 14 14]"}, // the head of a loop, once before it and once behind each round
		{[]int{18}, nil, "[18]"},
		{[]int{17}, nil, "[17 17 17]"}, // a lambda on the line of its statement
		{[]int{22}, nil, "[21]"},       // the expressions of lambdas, in lambdas
		{[]int{21}, nil, "[21]"},
		{[]int{25}, nil, "[25 25]"},
		{[]int{17}, []Step{In, In, Next}, "[17 17 12 17]"},
		{[]int{100}, nil, "[]"},
		{[]int{3, 16}, nil, "[3 3 16]"},
		{[]int{3}, []Step{Next, Next, Next}, "[3 4 7 14 3]"},
		{[]int{12}, []Step{Out}, "[12 7 12 12 12 12 12 12]"},
		{nil, []Step{In, In, In, In, In, Next, Out}, "[1 11 14 15 3 4 7 15]"},
		{nil, []Step{Next, Next, Next, Next, Next, Next, Next, Next}, "[1 11 14 15 14 15 14 16 17]"},
	}
	for _, test := range tests {
		if got := fmt.Sprint(stops(t, program, test.breaks, test.steps...)); got != test.want {
			t.Errorf("breakpoints %v, steps %v: got %s, want %s", test.breaks, test.steps, got, test.want)
		}
	}
}

// Stepping into everything stops at every statement that runs, in turn, whatever is in it.
func TestStepsMeetEveryStatement(t *testing.T) {
	source := "x = 1\ny = [\n    x,\n]\nif y: pass\nz = {}\nw = lambda: 1\nfor _ in y:\n    break\nv = (1, 2)\nu = v[\n    0]\n"
	steps := slices.Repeat([]Step{In}, 50)
	if got, want := fmt.Sprint(stops(t, source, nil, steps...)), "[1 2 5 5 6 7 8 9 10 11]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The head of a loop is met once before the first round, with the variable as it was, and then where a round ends,
// by continue too: as Python's debugger has it.
func TestHeadsOfLoops(t *testing.T) {
	source := "def f():\n    n = 0\n    for i in range(3):\n        if i == 1:\n            continue\n        n += 1\n    while n < 4:\n        n += 1\n    return n\nf()\n"
	steps := slices.Repeat([]Step{In}, 50)
	if got, want := fmt.Sprint(stops(t, source, nil, steps...)), "[1 10 2 3 4 6 3 4 5 3 4 6 3 7 8 7 8 7 9]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(stops(t, source, []int{3, 4, 7}, nil...)), "[3 4 3 4 3 4 3 7 7 7]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSameFile(t *testing.T) {
	for _, test := range []struct {
		name, path, dir string
		want            bool
	}{
		{"a.star", "a.star", "/d", true},
		{"a.star", "x/a.star", "/d", true},
		{"x/a.star", "a.star", "/d/x", true},
		{"/d/a.star", "a.star", "/d", true},
		{"/d/b.star", "a.star", "/d", false},
		{"./a.star", "a.star", "/d", true},
		{"ba.star", "a.star", "/d", false},
		{"a.star", "ba.star", "/d", false},
	} {
		if got := SameFile(test.name, test.path, test.dir); got != test.want {
			t.Errorf("SameFile(%q, %q, %q): got %v", test.name, test.path, test.dir, got)
		}
	}
}
