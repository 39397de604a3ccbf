package gemm

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// drawWindows draws windows over channels, and how many elements they see.
func drawWindows(t *rapid.T) (w *Windows, n int) {
	few := rapid.IntRange(1, 9)
	w = &Windows{Step: rapid.IntRange(0, 700).Draw(t, "step"), Channels: rapid.OneOf(few, rapid.IntRange(1, 70)).Draw(t, "channels"), ByPlace: rapid.Bool().Draw(t, "by place")}
	last := 0
	for range few.Draw(t, "taps") {
		w.Taps = append(w.Taps, rapid.IntRange(0, 300).Draw(t, "tap"))
		last = max(last, w.Taps[len(w.Taps)-1])
	}
	at, run := 0, rapid.IntRange(1, 60).Draw(t, "run")
	for i := range rapid.IntRange(1, 600).Draw(t, "places") {
		if at++; i%run == 0 {
			at += i % 7
		}
		w.Places = append(w.Places, at)
	}
	return w, 2 + (w.Channels-1)*w.Step + last + at + 1
}

// stored returns the matrix of o, which has windows.
func stored[T dtype.Float](o *Operand[T]) Operand[T] {
	w := o.Windows
	rows, cols := w.size()
	all := make([]T, 0, rows*cols)
	for i := range rows {
		for j := range cols {
			place, tap, channel := j, i%len(w.Taps), i/len(w.Taps)
			if w.ByPlace {
				place, tap, channel = i, j/w.Channels, j%w.Channels
			}
			all = append(all, o.Data[o.Offset+channel*w.Step+w.Taps[tap]+w.Places[place]])
		}
	}
	return Operand[T]{Data: all, Grid: Grid{Row: cols, Col: 1}}
}

// addInOrder adds p to c, whose rows may be further apart, block after block of the inner dim.
func addInOrder[T dtype.Float](p *Product[T], c []T) {
	for l := 0; l < p.K; l += Block {
		part := *p
		part.A, part.B, part.K = p.A.from(0, l), p.B.from(l, 0), min(Block, p.K-l)
		for i, x := range inOrder(&part) {
			c[i/p.N*max(p.N, p.CRow)+i%p.N] += x
		}
	}
}

func testWindows[T dtype.Float](t *rapid.T) {
	w, n := drawWindows(t)
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	normal := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(r.NormFloat64())
		}
		return x
	}
	k, cols := w.size()
	p := &Product[T]{M: rapid.SampledFrom([]int{1, 2, 5, 20, 30, 180}).Draw(t, "m"), N: cols, K: k, Count: 1, Add: rapid.Bool().Draw(t, "add")}
	if p.M*p.N*p.K > 1<<21 {
		p.M = 1
	}
	p.A = Operand[T]{Data: normal(p.M * k), Grid: Grid{Row: k, Col: 1}}
	p.B = Operand[T]{Data: normal(n), Grid: Grid{Offset: 2}, Windows: w}
	dense := *p
	dense.B = stored(&p.B)
	before := normal(p.M * p.N)
	want := inOrder(&dense)
	if p.Add {
		want = append([]T(nil), before...)
		addInOrder(&dense, want)
	}
	for _, s := range vec.Sets() {
		for _, helpers := range []int{0, 2} {
			for _, q := range []*Product[T]{p, &dense} {
				q.C = append([]T(nil), before...)
				q.compute(kernelsIn[T](s), crew.Of(helpers))
				expect(t, q, s, q.C, want)
			}
		}
	}
}

// A product of windows is that of the matrix of what they see, and products are added
// to what is there, by every set and number of goroutines.
func TestWindows(t *testing.T) {
	t.Run("f32", func(t *testing.T) { rapid.Check(t, testWindows[float32]) })
	t.Run("f64", func(t *testing.T) { rapid.Check(t, testWindows[float64]) })
}

// Windows that see what is not there, or are no matrix of the product, are refused.
func TestWindowsChecks(t *testing.T) {
	for name, w := range map[string]*Windows{
		"beyond":   {Step: 10, Channels: 2, Taps: []int{0, 5}, Places: []int{0, 5}},
		"negative": {Step: 1, Channels: 2, Taps: []int{0, -1}, Places: []int{0, 1}},
		"columns":  {Step: 1, Channels: 2, Taps: []int{0, 1}, Places: []int{0}},
		"rows":     {Step: 1, Channels: 1, Taps: []int{0, 1}, Places: []int{0, 1}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Multiply(nil, Product[float32]{M: 1, N: 2, K: 4, Count: 1, C: make([]float32, 2), A: Operand[float32]{Data: make([]float32, 4), Grid: Grid{Row: 4, Col: 1}},
				B: Operand[float32]{Data: make([]float32, 20), Windows: w}})
		}()
	}
}
