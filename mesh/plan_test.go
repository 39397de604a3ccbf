package mesh

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// placements reads placements separated by spaces.
func placements(t fataler, text string) []Placement {
	t.Helper()
	var out []Placement
	for _, s := range strings.Fields(text) {
		p, err := ParsePlacement(s)
		if err != nil {
			t.Fatalf("%v", err)
		}
		out = append(out, p)
	}
	return out
}

// text writes a plan as its steps: all_gather 0,1 to [R, R] 48, with the bytes
// that a rank receives.
func (p *Plan) text() string {
	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, fmt.Sprintf("%v %s to %s %d", s.Op, join(s.Dims, ","), List(s.Dst.placements), s.Bytes))
	}
	return strings.Join(steps, "; ")
}

// What moves, in which steps, for small tensors of 4-byte elements, where the
// number of steps counts most, and for large ones, where the bytes do.
func TestPlanSteps(t *testing.T) {
	for _, c := range []struct {
		mesh, shape []int
		src, dst    string
		want        string
	}{
		{[]int{4}, []int{8, 8}, "R", "R", ""},
		{[]int{4}, []int{8, 8}, "R", "S(0)", "slice 0 to [S(0)] 0"},
		{[]int{4}, []int{8, 8}, "S(0)", "R", "all_gather 0 to [R] 192"},
		{[]int{4}, []int{5, 3}, "S(0)", "R", "all_gather 0 to [R] 60"},
		{[]int{4}, []int{8, 8}, "S(0)", "S(1)", "all_to_all 0 to [S(1)] 48"},
		{[]int{4}, []int{5, 3}, "S(1)", "S(0)", "all_to_all 0 to [S(0)] 16"},
		{[]int{4}, []int{8, 8}, "P", "R", "all_reduce 0 to [R] 768"},
		{[]int{4}, []int{1024, 8}, "P", "R", "all_reduce 0 to [R] 49152"},
		{[]int{4}, []int{8, 8}, "P", "S(0)", "reduce_scatter 0 to [S(0)] 192"},
		{[]int{4}, []int{1, 1 << 20}, "P", "S(0)", "all_reduce 0 to [R] 6291456; slice 0 to [S(0)] 0"},
		{[]int{1}, []int{8, 8}, "P", "R", "slice 0 to [R] 0"},
		{[]int{4}, []int{0, 8}, "P", "R", "slice 0 to [R] 0"},
		{[]int{2, 2}, []int{8, 8}, "S(0) S(1)", "S(0) S(0)", "all_to_all 1 to [S(0), S(0)] 32"},
		{[]int{2, 2}, []int{8, 8}, "S(0) S(1)", "S(1) S(0)", "all_to_all 0,1 to [S(1), S(0)] 64"},
		{[]int{2, 2}, []int{8, 8}, "S(0) S(0)", "S(1) S(1)", "all_to_all 0,1 to [S(1), S(1)] 48"},
		{[]int{2, 2}, []int{8, 8}, "S(0) S(0)", "S(0) R", "all_gather 1 to [S(0), R] 64"},
		{[]int{2, 2}, []int{8, 8}, "S(0) S(0)", "R S(0)", "all_gather 0,1 to [R, R] 192; slice 1 to [R, S(0)] 0"},
		{[]int{2, 2}, []int{128, 128}, "S(0) S(0)", "R S(0)", "exchange 0,1 to [R, S(0)] 32768"},
		{[]int{2, 2}, []int{8, 8}, "R S(0)", "S(0) S(0)", "all_gather 1 to [R, R] 128; slice 0,1 to [S(0), S(0)] 0"},
		{[]int{2, 2}, []int{128, 128}, "R S(0)", "S(0) S(0)", "exchange 0,1 to [S(0), S(0)] 16384"},
		{[]int{2, 2}, []int{8, 8}, "S(0) S(1)", "R R", "all_gather 0,1 to [R, R] 192"},
		{[]int{2, 2}, []int{8, 8}, "S(0) R", "R S(1)", "slice 1 to [S(0), S(1)] 0; all_gather 0 to [R, S(1)] 64"},
		{[]int{2, 2}, []int{8, 8}, "P P", "R R", "all_reduce 0,1 to [R, R] 768"},
		{[]int{2, 2}, []int{8, 8}, "P P", "S(0) S(1)", "reduce_scatter 0,1 to [S(0), S(1)] 192"},
		{[]int{2, 2}, []int{1024, 1024}, "P P", "S(0) R", "reduce_scatter 0,1 to [S(0), S(0)] 3145728; all_gather 1 to [S(0), R] 1048576"},
		{[]int{2, 2}, []int{8, 8}, "P S(0)", "R R", "all_reduce 0 to [R, S(0)] 128; all_gather 1 to [R, R] 128"},
		{[]int{2, 2}, []int{8, 8}, "P S(0)", "S(1) S(0)", "reduce_scatter 0 to [S(1), S(0)] 64"},
		{[]int{2, 2}, []int{8, 8}, "P(max) P(sum)", "R R", "all_reduce 1 to [P(max), R] 256; all_reduce 0 to [R, R] 256"},
		{[]int{2, 2}, []int{8, 8}, "P S(0)", "P R", "all_gather 1 to [P(sum), R] 128"},
		{[]int{2, 2}, []int{8, 8}, "P P", "P S(0)", "reduce_scatter 1 to [P(sum), S(0)] 128"},
		{[]int{2, 2}, []int{8, 8}, "R S(0)", "_S(0,2) S(0)", "slice 0 to [_S(0, 2), S(0)] 0"},
		{[]int{2, 2}, []int{8, 8}, "_S(0,2) S(0)", "R S(0)", "all_gather 0 to [R, S(0)] 64"},
		{[]int{2, 2}, []int{8, 8}, "_S(0,2) S(0)", "R R", "all_gather 0,1 to [R, R] 192"},
		{[]int{2, 2}, []int{8, 8}, "P S(0)", "_S(0,2) S(0)", "reduce_scatter 0 to [_S(0, 2), S(0)] 64"},
		{[]int{2, 2}, []int{8, 8}, "P P", "_S(0,2) S(0)", "reduce_scatter 0,1 to [_S(0, 2), S(0)] 192"},
		{[]int{2, 2}, []int{8, 8}, "P S(1)", "_S(0,2) S(0)", "exchange 0,1 to [_S(0, 2), S(0)] 96"},
		{[]int{2, 2}, []int{8, 8}, "_S(0,2) S(0)", "S(0) S(0)", "all_gather 0,1 to [R, R] 192; slice 0,1 to [S(0), S(0)] 0"},
		{[]int{2, 2}, []int{128, 128}, "_S(0,2) S(0)", "S(0) R", "exchange 0,1 to [S(0), R] 32768"},
		{[]int{2, 2}, []int{8, 8}, "_S(0,2) S(0)", "S(1) S(0)", "all_to_all 0 to [S(1), S(0)] 32"},
		{[]int{2, 2}, []int{8, 8}, "S(0) R", "P R", "all_gather 0 to [R, R] 128; make_partial 0 to [P(sum), R] 0"},
	} {
		m := mustMesh(t, c.mesh...)
		src, dst := mustPlace(t, m, c.shape, placements(t, c.src)...), mustPlace(t, m, c.shape, placements(t, c.dst)...)
		plan, err := NewPlan(src, dst, 4)
		if err != nil {
			t.Errorf("%v to %v: %v", src, c.dst, err)
			continue
		}
		if got := plan.text(); got != c.want {
			t.Errorf("%v to %v:\n got %v\nwant %v", src, c.dst, got, c.want)
		}
	}
}

// Any two placements on any mesh, with sums of several operations, sums that
// stay, and elements so large that all-reduces are split.
func TestPlanAnyPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, dst := drawPair(t)
		checkPlan(t, src, dst, rapid.SampledFrom([]int{4, 1, 8, 1 << 10, 1 << 14}).Draw(t, "itemSize"))
	})
}

// drawPair draws two layouts between which there is a plan.
func drawPair(t *rapid.T) (src, dst *Placed) {
	m, shape := drawMesh(t), drawShape(t)
	if rapid.Bool().Draw(t, "costs") {
		costs := rapid.SliceOfN(rapid.SampledFrom([]float64{1e-6, 1e-9, 0, 1}), m.NDim(), m.NDim())
		var err error
		if m, err = m.WithCosts(costs.Draw(t, "alpha"), costs.Draw(t, "beta")); err != nil {
			t.Fatal(err)
		}
	}
	choices := []Placement{Partial(Sum), Replicate(), Partial(Max)}
	for d := range shape {
		choices = append(choices, Shard(d))
	}
	tuple := rapid.SliceOfN(rapid.SampledFrom(choices), m.NDim(), m.NDim())
	order := rapid.Permutation(allDims(m))
	src = mustPlace(t, m, shape, InOrder(m, tuple.Draw(t, "src"), order.Draw(t, "source order"))...)
	dst = mustPlace(t, m, shape, InOrder(m, tuple.Draw(t, "dst"), order.Draw(t, "target order"))...)
	if checkPair(src, dst) != nil { // a dim is to be reduced before one that stays Partial
		dst = mustPlace(t, m, shape, make([]Placement, m.NDim())...)
	}
	return src, dst
}

func allDims(m *Mesh) []int {
	dims := make([]int, m.NDim())
	for i := range dims {
		dims[i] = i
	}
	return dims
}

// No path of the moves is cheaper than the plan, or as cheap and shorter: all
// are walked.
func TestPlanIsCheapest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, dst := drawPair(t)
		s := newSearch(src, valueTarget(src, dst, src.with), 4, src.with)
		var best *path
		var walk func(p *path)
		walk = func(p *path) {
			if slices.Equal(p.at.placements, s.dst.placements) {
				if best == nil || cheaper(p, best) {
					best = p
				}
				return
			}
			for _, m := range s.moves(p.at.placements) {
				if next := s.advance(p, m); next != nil && s.admits(next) {
					walk(next)
				}
			}
		}
		walk(s.state(src.placements).best)
		found := s.run(false, func(*path) {})
		if cheaper(best, found) {
			t.Fatalf("%v to %v: the plan %v takes %v, and another, %v, %v", src, List(dst.placements),
				found.plan(s.dst).text(), found.seconds, best.plan(s.dst).text(), best.seconds)
		}
	})
}

// No plan takes longer, by its own seconds, than another that was considered or
// refused; and more moves than ranks lack only where that takes less time.
func TestPlanIsQuickest(t *testing.T) {
	values := valuePlacements()
	for _, shape := range [][]int{{4}, {2, 2}, {2, 3}} {
		m := mustMesh(t, shape...)
		for i, from := range tuples(len(shape), append(slices.Clone(values), Partial(Sum))) {
			for j, to := range tuples(len(shape), values) {
				n := []int{1, 3, 8, 60, 400}[(i+j)%5]
				src, dst := mustPlace(t, m, []int{n, n + 1}, from...), mustPlace(t, m, []int{n, n + 1}, to...)
				plan, err := NewPlan(src, dst, 4)
				if err != nil {
					t.Fatal(err)
				}
				all, err := Explain(src, dst, 4)
				if err != nil {
					t.Fatal(err)
				}
				if got := all[0].text(); got != plan.text() {
					t.Errorf("%v to %v: the first to be explained is %v, the plan %v", src, dst, got, plan.text())
				}
				for _, a := range all {
					if a.Seconds < plan.Seconds {
						t.Errorf("%v to %v: %v takes %v, and %v %v", src, dst, plan.text(), plan.Seconds, a.text(), a.Seconds)
					}
				}
			}
		}
	}
}

func cheaper(p, q *path) bool {
	return cmp.Or(cmp.Compare(p.seconds, q.seconds), cmp.Compare(p.steps, q.steps)) < 0
}

// A plan on a mesh of many dims takes few steps of the search.
func TestPlanIsBounded(t *testing.T) {
	m := mustMesh(t, 2, 1, 2, 1, 2, 1, 2, 1)
	src := mustPlace(t, m, []int{8, 8}, placements(t, "S(0) S(0) S(1) S(1) S(0) R R P")...)
	dst := mustPlace(t, m, []int{8, 8}, placements(t, "S(1) R S(0) S(0) R S(0) S(1) S(0)")...)
	checkPlan(t, src, dst, 4)
	s := newSearch(src, dst, 4, src.with)
	s.run(true, func(*path) {})
	if len(s.states) > 300 {
		t.Errorf("the search saw %d states", len(s.states))
	}
}

func TestPlanRefuses(t *testing.T) {
	m := mustMesh(t, 2, 2)
	src := mustPlace(t, m, []int{4}, placements(t, "P(sum) P(max)")...)
	other := mustPlace(t, m.Permute(1, 0), []int{4}, Replicate(), Replicate())
	for _, c := range []struct {
		dst  *Placed
		want string
	}{
		{mustPlace(t, m, []int{4}, placements(t, "R P(max)")...), `for parameter "placements": got [R, P(max)], want no P(max) at index 1 (P(max) at index 1 applies first)`},
		{mustPlace(t, m, []int{5}, Replicate(), Replicate()), `for parameter "shape": got (5,), want (4,) (a redistribution keeps the shape)`},
		{other, `for parameter "mesh": got DeviceMesh([[0, 2], [1, 3]]), want DeviceMesh([[0, 1], [2, 3]]) (a plan is for one mesh)`},
	} {
		if _, err := NewPlan(src, c.dst, 4); err == nil || err.Error() != c.want {
			t.Errorf("NewPlan(%v, %v): got error %v, want %v", src, c.dst, err, c.want)
		}
		if _, err := Explain(src, c.dst, 4); err == nil || err.Error() != c.want {
			t.Errorf("Explain(%v, %v): got error %v, want %v", src, c.dst, err, c.want)
		}
	}
	same, partial := mustPlace(t, m, []int{4}, placements(t, "P(sum) R")...), mustPlace(t, m, []int{4}, placements(t, "R P(sum)")...)
	if err := CheckTarget(src, same); err != nil {
		t.Errorf("CheckTarget(%v, %v): got error %v", src, same, err)
	}
	want := `for parameter "placements": got Partial("sum") at index 1, want Replicate() or Shard(dim) (Partial is what operators leave, no target: the tensor is [P(sum), P(max)])`
	if err := CheckTarget(src, partial); err == nil || err.Error() != want {
		t.Errorf("CheckTarget(%v, %v): got error %v, want %v", src, partial, err, want)
	}
}

// What a step along a slow dim costs makes the plan gather along it first.
func TestPlanMindsCosts(t *testing.T) {
	m, err := mustMesh(t, 2, 2).WithCosts([]float64{1e-5, 1e-6}, []float64{1e-9, 1e-10})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(mustPlace(t, m, []int{1024, 1024}, Shard(0), Shard(1)), mustPlace(t, m, []int{1024, 1024}, Replicate(), Replicate()), 4)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := plan.text(), "all_gather 0 to [R, S(1)] 1048576; all_gather 1 to [R, R] 2097152"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if want := 1e-5 + 1048576e-9 + 1e-6 + 2097152e-10; math.Abs(plan.Seconds-want) > 1e-12 {
		t.Errorf("got %v seconds, want %v", plan.Seconds, want)
	}
}

// The first alternative is the plan, they come cheapest first and none twice;
// one that moves too much is last and says so.
func TestExplain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, dst := drawPair(t)
		plan, err := NewPlan(src, dst, 4)
		if err != nil {
			t.Fatal(err)
		}
		all, err := Explain(src, dst, 4)
		if err != nil {
			t.Fatal(err)
		}
		if all[0].text() != plan.text() || all[0].Seconds != plan.Seconds || all[0].Refused != "" {
			t.Fatalf("%v to %v: the first alternative is %v, and the plan %v", src, List(dst.placements), all[0].text(), plan.text())
		}
		seen := map[string]bool{}
		for i, a := range all {
			if i > 0 && a.Refused == "" && a.Seconds < all[i-1].Seconds || a.Refused != "" && i < len(all)-1 || seen[a.text()] {
				t.Fatalf("%v to %v: alternative %d is out of place: %v", src, List(dst.placements), i, a.text())
			}
			seen[a.text()] = true
		}
	})
	m := mustMesh(t, 2, 2)
	all, err := Explain(mustPlace(t, m, []int{8, 8}, Shard(0), Replicate()), mustPlace(t, m, []int{8, 8}, Replicate(), Shard(1)), 4)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range all {
		line := fmt.Sprintf("%s: %d bytes, %.3g us", a.text(), a.Bytes, a.Seconds*1e6)
		if a.Refused != "" {
			line += ", " + a.Refused
		}
		got = append(got, line)
	}
	want := []string{
		"slice 1 to [S(0), S(1)] 0; all_gather 0 to [R, S(1)] 64: 64 bytes, 1.01 us",
		"exchange 0,1 to [R, S(1)] 64: 64 bytes, 1.51 us",
		"all_gather 0 to [R, R] 128; slice 1 to [R, S(1)] 0: 128 bytes, 1.01 us, moves more than ranks lack",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// AllReduceBytes counts 64-byte chunks as package comm cuts them.
func TestAllReduceBytes(t *testing.T) {
	for _, c := range []struct{ bytes, itemSize, members, i, want int }{
		{1000, 4, 1, 0, 0},
		{1000, 4, 3, 2, 2000},
		{1 << 20, 4, 2, 0, 1 << 20},
		{1 << 20, 4, 4, 0, 6 << 18},
		{32768, 4, 3, 0, 32768 + 10944},
		{32768, 4, 3, 2, 32768 + 10880},
		{32768, 48, 3, 2, 32768 + 10880},
	} {
		if got := AllReduceBytes(c.bytes, c.itemSize, c.members, c.i); got != c.want {
			t.Errorf("AllReduceBytes(%d, %d, %d, %d) = %d, want %d", c.bytes, c.itemSize, c.members, c.i, got, c.want)
		}
	}
}

func BenchmarkNewPlan(b *testing.B) {
	for _, c := range []struct {
		mesh     []int
		src, dst []Placement
	}{
		{[]int{4}, []Placement{Shard(0)}, []Placement{Shard(1)}},
		{[]int{2, 2}, []Placement{Partial(Sum), Shard(1)}, []Placement{Shard(1), Replicate()}},
		{[]int{2, 2, 2}, []Placement{Partial(Sum), Shard(1), Shard(0)}, []Placement{Shard(1), Replicate(), Shard(1)}},
		{[]int{8, 8}, []Placement{Shard(0), Shard(1)}, []Placement{Shard(1), Shard(0)}},
	} {
		m, err := New(c.mesh, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		src, dst := newPlaced(m, []int{64, 64}, c.src), newPlaced(m, []int{64, 64}, c.dst)
		b.Run(List(c.src)+" to "+List(c.dst)+" on "+m.Short(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := NewPlan(src, dst, 4); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
