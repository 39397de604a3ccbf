package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	line := func(at string, n int, s string) Line { return Line{at, n, text(s)} }
	tests := []struct {
		name  string
		ranks [][]Line
		want  string
	}{
		{"nothing", [][]Line{nil, nil}, ""},
		{"alike", [][]Line{{line("a", 0, "x")}, {line("a", 0, "x")}}, "x\n"},
		{"different", [][]Line{{line("a", 0, "x")}, {line("a", 0, "y")}}, "[0] x\n[1] y\n"},
		{"two alike", [][]Line{{line("a", 0, "x")}, {line("a", 0, "y")}, {line("a", 0, "x")}}, "[0,2] x\n[1] y\n"},
		{"another print", [][]Line{{line("a", 0, "x")}, {line("b", 0, "x")}}, "[0] x\n[1] x\n"},
		{"another time", [][]Line{{line("a", 0, "x")}, {line("a", 1, "x")}}, "[0] x\n[1] x\n"},
		{"order of the lowest rank", [][]Line{
			{line("c", 0, "c0"), line("a", 0, "a")},
			{line("a", 0, "a"), line("b", 0, "b"), line("c", 0, "c1")},
		}, "[0] c0\n[1] c1\na\n[1] b\n"},
		{"several lines", [][]Line{{line("a", 0, "x\n\ny\n")}, nil}, "[0] x\n[0]\n[0] y\n[0]\n"},
		{"one rank", [][]Line{{line("a", 0, "x")}}, "x\n"},
	}
	for _, test := range tests {
		if got := merge(test.ranks); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestRankLists(t *testing.T) {
	tests := []struct {
		ranks []int
		list  string
	}{
		{[]int{0}, "0"},
		{[]int{1, 3}, "1,3"},
		{[]int{0, 1}, "0,1"},
		{[]int{0, 1, 2, 3}, "0,1,2,3"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 8}, "0,1,2,3,4,5,6,8"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 8, 9}, "0-6,8,9"},
		{[]int{0, 2, 4, 6, 8, 10, 12, 14, 15, 16}, "0,2,4,6,8,10,12,14-16"},
	}
	for _, test := range tests {
		if got := rankList(test.ranks); got != test.list {
			t.Errorf("rankList(%v): got %s, want %s", test.ranks, got, test.list)
		}
	}
}

func TestMergeValues(t *testing.T) {
	if got := MergeValues(2, []int{1, 3}, []string{"5", "5"}); got != "5\n" {
		t.Errorf("alike: got %q", got)
	}
	if got, want := MergeValues(3, []int{0, 2}, []string{"5", "5"}), "[0,2] 5\n"; got != want {
		t.Errorf("not all: got %q, want %q", got, want)
	}
	if got, want := MergeValues(3, []int{0, 1, 2}, []string{"a\nb", "c", "a\nb"}), "[0,2] a\n[0,2] b\n[1] c\n"; got != want {
		t.Errorf("different: got %q, want %q", got, want)
	}
}

// sections draws what each of some ranks prints, section by section. Each
// rank runs a subset of the same prints, in any order, some of them alike.
func sections(t *rapid.T) [][][]Line {
	size := rapid.IntRange(2, 12).Draw(t, "ranks")
	out := make([][][]Line, rapid.IntRange(1, 4).Draw(t, "sections"))
	for i := range out {
		for range size {
			count := make(map[string]int)
			var lines []Line
			for range rapid.IntRange(0, 6).Draw(t, "lines") {
				at := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "at")
				lines = append(lines, Line{at, count[at], text(rapid.SampledFrom([]string{"x", "y", "z\nz"}).Draw(t, "text"))})
				count[at]++
			}
			out[i] = append(out[i], lines)
		}
	}
	return out
}

// Output is a function of what the ranks print: however their messages
// interleave, it is the sections' text in order.
func TestSinkIsAFunctionOfContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := sections(t)
		size := len(all[0])
		var want strings.Builder
		for _, section := range all {
			want.WriteString(merge(section))
		}
		ranks := make([]int, size)
		var order []int
		for rank := range size {
			ranks[rank] = rank
			for range len(all) + 1 {
				order = append(order, rank)
			}
		}
		var got strings.Builder
		s := newSink(&got, Merged, ranks, size)
		sent := make([]int, size)
		for _, rank := range rapid.Permutation(order).Draw(t, "order") {
			if sent[rank] == len(all) {
				s.close(rank)
			} else {
				s.add(rank, &linesMsg{Lines: all[sent[rank]][rank]})
			}
			sent[rank]++
		}
		if got.String() != want.String() {
			t.Fatalf("got:\n%s\nwant:\n%s", got.String(), want.String())
		}
	})
}

// From a merged section each rank's lines can be read: those without a mark
// and those that name it. Rank 0's are in its order.
func TestMergeLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		section := sections(t)[0]
		merged := merge(section)
		for rank, lines := range section {
			var want []string
			for _, l := range lines {
				want = append(want, strings.Split(string(l.Text), "\n")...)
			}
			got := linesOf(merged, rank)
			if rank > 0 {
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("rank %d: got %q, want %q in\n%s", rank, got, want, merged)
			}
		}
	})
}

// linesOf returns the lines of a merged section that a rank printed. It knows
// lists of ranks, as rankList writes them, without using it.
func linesOf(merged string, rank int) []string {
	var out []string
	for line := range strings.Lines(merged) {
		line = strings.TrimSuffix(line, "\n")
		mark, rest, ok := strings.Cut(line, "] ")
		if !ok {
			out = append(out, line)
			continue
		}
		for item := range strings.SplitSeq(strings.TrimPrefix(mark, "["), ",") {
			lo, hi, isRange := strings.Cut(item, "-")
			if !isRange {
				hi = lo
			}
			a, _ := strconv.Atoi(lo)
			b, _ := strconv.Atoi(hi)
			if a <= rank && rank <= b {
				out = append(out, rest)
			}
		}
	}
	return out
}

// The same program gives the same output, however its ranks are scheduled.
func TestOutputIsReproducible(t *testing.T) {
	const source = `
for i in range(20):
    if (i + rank()) % 3:
        print(i, rank() % 2)
    print("all")
    if i % 4 == 0:
        meet()
`
	var first string
	for i := range 10 {
		b := newBench(t, 9, Options{})
		_, out, report := b.run(t, prog(source))
		if report != "" {
			t.Fatal(report)
		}
		if i == 0 {
			first = out
		} else if out != first {
			t.Fatalf("run %d: got\n%s\nwant as before:\n%s", i, out, first)
		}
		b.stop()
	}
}

func ExampleMergeValues() {
	fmt.Print(MergeValues(4, []int{0, 1, 2, 3}, []string{"even", "odd", "even", "odd"}))
	// Output:
	// [0,2] even
	// [1,3] odd
}
