package lang

import (
	"slices"
	"strings"
	"testing"
)

// Globals are alive: functions of earlier chunks see what later ones assign.
func TestChunksShareLiveGlobals(t *testing.T) {
	b := newBench(t, 2, Options{})
	steps := []struct{ source, value string }{
		{"n = 1", ""},
		{"def f(): return n", ""},
		{"n = 2", ""},
		{"f()", "2"},
		{"_ + 1", "3"},
		{"seen = []", ""},
		{"for n in range(3):\n    seen.append(f())\n    k = n * 10", ""},
		{"(seen, n, k)", "([0, 1, 2], 2, 20)"},
		{"while n < 5:\n    n += 1", ""},
		{"f()", "5"},
		{"seen += [7]", ""},
		{"seen", "[0, 1, 2, 7]"},
		{"def g(): return h()\ndef h(): return 1\n", ""},
		{"g()", "1"},
		{"def h(): return 2", ""},
		{"g()", "2"},
		{"(a, [b, c]) = 1, (2, 3)", ""},
		{"[a, b, c]", "[1, 2, 3]"},
		{"len = 3", ""},
		{"len", "3"},
		{"if n:\n    def p(): return 'p'\nelse:\n    p = None", ""},
		{"p()", `"p"`},
		{"l = lambda: n", ""},
		{"n = 'new'", ""},
		{"l()", `"new"`},
		{"x = [n for n in range(2)]; n", `"new"`},
		{"_ + 's'; f()", `"new"`},
		{"_", `"new"`},
		{"1; y = 2", ""},
		{"(x, n)", `([0, 1], "new")`},
		{"None", ""},
		{"# nothing", ""},
		{"", ""},
	}
	for _, s := range steps {
		o, _, report := b.chunk(t, s.source)
		if report != "" {
			t.Fatalf("%s: %s", s.source, report)
		}
		if got := strings.TrimSpace(o.Values()); got != s.value {
			t.Errorf("%s: got %q, want %q", s.source, got, s.value)
		}
	}
}

func TestChunkErrors(t *testing.T) {
	b := newBench(t, 2, Options{})
	tests := []struct{ source, want string }{
		{"x = (", "<stdin>:1:5: the ( that opens here is never closed\n"},
		{"x = meat", "<stdin>:1:5: undefined: meat (did you mean meet?)\n"},
		{"meat()\n", "<stdin>:1:1: undefined: meat (did you mean meet?)\n"},
		{"kept = 1\nfail('no')\nlost = 2", "ranks 0,1 of 2:\nTraceback (most recent call last):\n  <stdin>:2:5: in <toplevel>\nError in fail: no\n"},
		{"kept + lost", "ranks 0,1 of 2:\nTraceback (most recent call last):\n  <stdin>:1:6: in <toplevel>\nError: unknown binary op: int + NoneType\n"},
		{"a = b += 1", "<stdin>:1:7: += assigns, and cannot stand in an expression\n"},
		{"later += 1", "ranks 0,1 of 2:\nTraceback (most recent call last):\n  <stdin>:1:1: in <toplevel>\nError: global variable later referenced before assignment\n"},
		{"early = later\nlater = 1", "ranks 0,1 of 2:\nTraceback (most recent call last):\n  <stdin>:1:9: in <toplevel>\nError: global variable later referenced before assignment\n"},
		{"(a, b) += 1", "<stdin>:1:2: can't use tuple expression in augmented assignment\n"},
		{"return", "<stdin>:1:1: return statement not within a function\n"},
	}
	for _, test := range tests {
		b.chunk(t, "lost = None")
		if _, _, got := b.chunk(t, test.source); got != test.want {
			t.Errorf("%s:\ngot:\n%s\nwant:\n%s", test.source, got, test.want)
		}
	}
}

// Line numbers go on from chunk to chunk if the front end wants.
func TestChunkFirstLine(t *testing.T) {
	b := newBench(t, 1, Options{})
	_, _, report := b.run(t, Program{Path: "<stdin>", Chunk: true, FirstLine: 41, Source: "1\nfail('x')"})
	contains(t, report, "  <stdin>:42:5: in <toplevel>\n")
}

func TestChunkOnSomeRanks(t *testing.T) {
	b := newBench(t, 4, Options{})
	o, out, _ := b.run(t, Program{Path: "<stdin>", Chunk: true, Ranks: []int{1, 3}, Source: "print('here') or rank()"})
	if got, want := o.Values(), "[1] 1\n[3] 3\n"; got != want {
		t.Errorf("got values %q, want %q", got, want)
	}
	if want := "[1,3] here\n"; out != want {
		t.Errorf("got output %q, want %q", out, want)
	}
	if _, err := b.Run(t.Context(), Program{Chunk: true, Ranks: []int{4}}); err == nil {
		t.Error("rank 4 of 4: got no error")
	}
}

// Ranks rest between chunks, and while others run one that they have no part
// in. They learn whether the last one went well.
func TestEnvIsToldOfChunks(t *testing.T) {
	b := newBench(t, 2, Options{})
	b.chunk(t, "1")
	b.chunk(t, "fail('x') if rank() else None")
	b.run(t, Program{Path: "<stdin>", Chunk: true, Source: "2", Ranks: []int{1}})
	b.stop()
	want := [][]string{
		{"resume false", "begin", "pause <nil>", "resume false", "begin", "pause <nil>", "resume true", "pause <nil>", "end <nil>"},
		{"resume false", "begin", "pause <nil>", "resume false", "begin", "pause fail: x", "resume true", "begin", "pause <nil>", "end <nil>"},
	}
	for rank, w := range want {
		if got := b.envs[rank].told(); !slices.Equal(got, w) {
			t.Errorf("rank %d was told %q, want %q", rank, got, w)
		}
	}
}

func TestVariables(t *testing.T) {
	b := newBench(t, 2, Options{})
	if got, err := b.Variables(t.Context()); err != nil || len(got) != 2 || len(got[0]) != 0 {
		t.Errorf("at first: got %v, %v, want none", got, err)
	}
	b.chunk(t, "x = flaky; r = rank(); long = 'é' * 100; lines = struct(text = 'a\\nb'); def_ = 1")
	b.chunk(t, "r")
	vars, err := b.Variables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Variable{
		{"def_", "int", "1"},
		{"lines", "struct", `struct(text = "a\nb")`},
		{"long", "string", `"` + repeat("é", 59) + "..."},
		{"r", "int", "1"},
		{"x", "flaky", "flaky, 4 B"},
	}
	if !slices.Equal(vars[1], want) {
		t.Errorf("got %+v, want %+v", vars[1], want)
	}
}

func repeat(s string, n int) (out string) {
	for range n {
		out += s
	}
	return out
}

func TestComplete(t *testing.T) {
	b := newBench(t, 2, Options{})
	b.chunk(t, "width = struct(wide = struct(wider = 1), _hidden = 2); weight = 2\ndef fn(alpha, beta = 1, *rest, gamma = 2, **more): pass")
	tests := []struct {
		line  string
		start int
		want  []string
	}{
		{"wi", 0, []string{"width"}},
		{"x = we", 4, []string{"weight"}},
		{"x = w", 4, []string{"weight", "while", "width"}},
		{"width.", 6, []string{"wide"}},
		{"width._", 6, []string{"_hidden"}},
		{"f(width.wide.w", 13, []string{"wider"}},
		{"width.nothing.w", 14, nil},
		{"nothing.w", 8, nil},
		{"weight.w", 7, nil},
		{"fn(al", 3, []string{"all", "alpha="}},
		{"fn([1, 2], be", 11, []string{"beta="}},
		{"fn(g", 3, []string{"gamma=", "getattr"}},
		{"fn(x)(g", 6, []string{"getattr"}},
		{"typed(k", 6, []string{"kind="}},
		{"print('wi", 9, nil},
		{`print("a\"wi`, 12, nil},
		{"# wi", 4, nil},
		{"é = wi", 5, []string{"width"}},
		{"json.en", 5, []string{"encode", "encode_indent"}},
		{"zzz", 0, nil},
	}
	for _, test := range tests {
		start, got, err := b.Complete(t.Context(), test.line)
		if err != nil || start != test.start || !slices.Equal(got, test.want) {
			t.Errorf("%q: got %d, %q, %v, want %d, %q", test.line, start, got, err, test.start, test.want)
		}
	}
}
