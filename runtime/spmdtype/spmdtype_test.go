package spmdtype

import (
	"testing"

	"pgregory.net/rapid"
)

// The gradient of a transition is one of the table, and its gradient is the transition again:
// ranks do backwards, in one call, what undoes what they did forwards.
func TestGradientsPair(t *testing.T) {
	for _, tr := range Transitions() {
		back, ok := tr.Gradient()
		if tr.Name == "reinterpret" && tr.Src == I {
			if ok {
				t.Errorf("the gradient of %v is %v, want the two of I to R to V", tr, back)
			}
			continue
		}
		if !ok {
			t.Errorf("%v has no gradient in the table", tr)
			continue
		}
		if again, ok := back.Gradient(); !ok || again != tr {
			t.Errorf("the gradient of %v is %v, and its gradient %v", tr, back, again)
		}
	}
}

// The pairs as they are published.
func TestPairsAreThoseOfTheLattice(t *testing.T) {
	for _, c := range []struct{ name, src, dst, back string }{
		{"convert", "R", "I", "convert(I, P)"}, {"convert", "R", "V", "convert(V, P)"}, {"reinterpret", "R", "V", "reinterpret(V, P)"},
		{"convert", "R", "P", "convert(R, P)"}, {"reinterpret", "R", "P", "reinterpret(R, P)"},
		{"convert", "I", "R", "all_reduce(P, I)"}, {"convert", "I", "V", "all_gather(V, I)"}, {"convert", "I", "P", "convert(R, I)"},
		{"all_gather", "V", "R", "reduce_scatter(P, V)"}, {"all_gather", "V", "I", "convert(I, V)"}, {"all_to_all", "V", "V", "all_to_all(V, V)"},
		{"convert", "V", "P", "convert(R, V)"}, {"reinterpret", "V", "P", "reinterpret(R, V)"},
		{"all_reduce", "P", "R", "all_reduce(P, R)"}, {"all_reduce", "P", "I", "convert(I, R)"}, {"reduce_scatter", "P", "V", "all_gather(V, R)"},
	} {
		by := map[string]Type{"R": R, "I": I, "V": V, "P": P}
		tr, ok := Find(c.name, by[c.src], by[c.dst])
		if !ok {
			t.Errorf("there is no %s(%s, %s)", c.name, c.src, c.dst)
			continue
		}
		if back, _ := tr.Gradient(); back.String() != c.back {
			t.Errorf("the gradient of %v is %v, want %s", tr, back, c.back)
		}
	}
	if got := len(Transitions()); got != 17 {
		t.Errorf("there are %d transitions, want 17", got)
	}
}

// Acts on the ranks' numbers: a transition and its gradient are adjoint, so that the sum over the
// ranks of (result times its gradient) is that of (operand times its gradient), counted as the types say.
func TestActsAreAdjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := rapid.SampledFrom(Transitions()).Draw(t, "transition")
		n := rapid.IntRange(1, 4).Draw(t, "ranks")
		x, dy := held(t, tr.Src, tr.Do, n, "x"), held(t, tr.Dst.Gradient(), tr.Back, n, "dy")
		y, dx := act(tr.Do, x), act(tr.Back, dy)
		if got, want := pair(tr.Src, x, dx), pair(tr.Dst, y, dy); got != want {
			t.Fatalf("%v on %d ranks: x %v, y %v, dy %v, dx %v: x dx is %d, y dy %d", tr, n, x, y, dy, dx, got, want)
		}
	})
}

// held draws what n ranks hold of a t on which act works: whole lists of n numbers, or one each.
func held(t *rapid.T, ty Type, a Act, n int, name string) [][]int {
	size := 1
	if a == Slice || a == ReduceScatter || a == AllToAll {
		size = n
	}
	number := rapid.SliceOfN(rapid.IntRange(-9, 9), size, size)
	all := make([][]int, n)
	for r := range all {
		if ty.Same() && r > 0 {
			all[r] = all[0]
			continue
		}
		all[r] = number.Draw(t, name)
	}
	return all
}

// act is what the ranks do.
func act(a Act, x [][]int) [][]int {
	n := len(x)
	sum := make([]int, len(x[0]))
	var joined []int
	for _, xs := range x {
		for i, v := range xs {
			sum[i] += v
		}
		joined = append(joined, xs...)
	}
	y := make([][]int, n)
	for r := range y {
		switch a {
		case Keep:
			y[r] = x[r]
		case FirstOnly:
			if y[r] = make([]int, len(x[r])); r == 0 {
				y[r] = x[r]
			}
		case Slice:
			y[r] = x[r][r : r+1]
		case Pad:
			y[r] = make([]int, n)
			y[r][r] = x[r][0]
		case AllReduce:
			y[r] = sum
		case AllGather:
			y[r] = joined
		case ReduceScatter:
			y[r] = sum[r : r+1]
		case AllToAll:
			for _, xs := range x {
				y[r] = append(y[r], xs[r])
			}
		}
	}
	return y
}

// pair is x times its gradient: once for what is I, whose gradient all have, and else the sum over the ranks.
func pair(ty Type, x, dx [][]int) int {
	total := 0
	for r := range x {
		if ty == I && r > 0 {
			break
		}
		for i, v := range x[r] {
			total += v * dx[r][i]
		}
	}
	return total
}

// What operators make of types: the laws of the lattice, whatever the operands.
func TestMeet(t *testing.T) {
	types := []Type{{}, R, I, V, P, S(0), S(1)}
	linear := func() []Row { // of two operands: together, and by blocks of dim 0
		return []Row{{[]Type{P, P}, []Type{P}}, {[]Type{S(0), S(0)}, []Type{S(0)}}}
	}
	for _, a := range types {
		for _, b := range types {
			got, bad := Meet([]Type{a, b}, linear)
			back, badBack := Meet([]Type{b, a}, linear)
			if (bad == nil) != (badBack == nil) || bad == nil && got[0] != back[0] {
				t.Errorf("%v + %v is %v (%v), and %v + %v %v (%v)", a, b, got, bad, b, a, back, badBack)
			}
			want, ok := Type{}, true
			switch {
			case a == I || b == I:
				want, ok = I, (a == I || a.IsNone()) && (b == I || b.IsNone())
			case a == P || b == P:
				want, ok = P, a == b
			case a == V || b == V, a.cut || b.cut:
				if want = V; a == S(0) && b == S(0) {
					want = S(0)
				}
			case a == R || b == R:
				want = R
			}
			if ok != (bad == nil) || ok && got[0] != want {
				t.Errorf("%v + %v is %v (%v), want %v, %v", a, b, got, bad, want, ok)
			}
		}
	}
	if _, bad := Meet([]Type{P}, func() []Row { return nil }); bad == nil || bad.Why != Curved {
		t.Errorf("what is not linear of P is %v, want Curved", bad)
	}
}

// Types are immutable records: With gives another, and none takes an axis away.
func TestTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		axes, types := []string{"dp", "tp", "pp"}, []Type{{}, R, I, V, P, S(0), S(2)}
		ts, model := (*Types)(nil), map[string]Type{}
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			a, ty := rapid.SampledFrom(axes).Draw(t, "axis"), rapid.SampledFrom(types).Draw(t, "type")
			before := ts.String()
			next := ts.With(a, ty)
			if ts.String() != before {
				t.Fatalf("With(%s, %v) changed %s to %v", a, ty, before, ts)
			}
			ts, model[a] = next, ty
		}
		for _, a := range axes {
			if ts.On(a) != model[a] {
				t.Fatalf("%v on %s is %v, want %v", ts, a, ts.On(a), model[a])
			}
		}
		if !ts.Gradient().Gradient().Equal(ts) {
			t.Fatalf("the gradient's gradient of %v is %v", ts, ts.Gradient().Gradient())
		}
	})
}

func TestRegionsAreTransitions(t *testing.T) {
	for _, r := range Regions {
		for _, dst := range []Type{r.Dst, r.NoGrad} {
			if _, ok := Find(r.Call, r.Src, dst); !ok && !dst.IsNone() {
				t.Errorf("%s: there is no %s from %v to %v", r.Name, r.Call, r.Src, dst)
			}
		}
	}
}
