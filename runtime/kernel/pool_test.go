package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// windowsAtRandom returns windows each of which sees an element.
func windowsAtRandom(r *rand.Rand) *Windows {
	for {
		var w Windows
		for d := range 3 {
			w.In[d], w.Size[d], w.Stride[d], w.Dilation[d] = 1+r.IntN(7), 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(2)
			w.Before[d], w.Out[d] = r.IntN(w.Size[d]), 1+r.IntN(4)
		}
		if w.See() {
			w.Plan()
			for i := range w.runs {
				if r.IntN(4) == 0 {
					w.runs[i].seen = nil // as if it were not kept
				}
			}
			return &w
		}
	}
}

// each gives f, of each window in row-major order, the elements of a channel that it sees.
func (w *Windows) each(f func(window int, seen []int)) {
	for p := range w.Out[0] * w.Out[1] * w.Out[2] {
		at := [3]int{p / (w.Out[1] * w.Out[2]), p / w.Out[2] % w.Out[1], p % w.Out[2]}
		var seen []int
		for t := range w.Size[0] * w.Size[1] * w.Size[2] {
			of, place, there := [3]int{t / (w.Size[1] * w.Size[2]), t / w.Size[2] % w.Size[1], t % w.Size[2]}, 0, true
			for d := range 3 {
				i := at[d]*w.Stride[d] + of[d]*w.Dilation[d] - w.Before[d]
				there = there && i >= 0 && i < w.In[d]
				place = place*w.In[d] + i
			}
			if there {
				seen = append(seen, place)
			}
		}
		f(p, seen)
	}
}

func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		w, channels := windowsAtRandom(r), 1+r.IntN(3)
		in, out := w.channel()
		x, y := make([]float32, channels*in), make([]float32, channels*out)
		for i := range x {
			x[i] = float32(r.IntN(5)) - 2 // with equal elements
			if r.IntN(9) == 0 {
				x[i] = float32([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)])
			}
		}
		for i := range y {
			y[i] = r.Float32()
		}
		most, at, sum, spread := slices.Clone(y), make([]int64, len(y)), slices.Clone(y), slices.Clone(x)
		WindowMaxTo(most, at, x, w)
		WindowSumTo(sum, x, 0.3, w)
		WindowSpreadTo(spread, y, 0.3, w)
		want := make([]float32, len(x))
		for c := range channels {
			from, to := x[c*in:(c+1)*in], want[c*in:(c+1)*in]
			w.each(func(window int, seen []int) {
				best, total, i := seen[0], float32(0), c*out+window
				for n, j := range seen {
					if v := from[j]; v > from[best] || v != v && from[best] == from[best] {
						best = j
					}
					if n == 0 {
						total = from[j]
					} else {
						total += from[j]
					}
					to[j] += float32(y[i] * 0.3)
				}
				if at[i] != int64(best) || !sameZeros(most[i], from[best]) {
					t.Fatalf("%+v, window %d: got %v at %d, want %v at %d", w, window, most[i], at[i], from[best], best)
				}
				if total *= 0.3; !sameZeros(sum[i], total) {
					t.Fatalf("%+v, window %d: got the sum %v, want %v", w, window, sum[i], total)
				}
			})
		}
		if !slices.Equal(spread, want) {
			t.Fatalf("%+v: got %v spread, want %v", w, spread, want)
		}
	}
}

// sameZeros reports whether x and y are one number, with its sign, or NaN both.
func sameZeros(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// A window that sees nothing has the sum 0, and no greatest element.
func TestWindowOfNothing(t *testing.T) {
	w := &Windows{In: [3]int{1, 1, 1}, Size: [3]int{1, 1, 2}, Out: [3]int{1, 1, 1}, Stride: [3]int{1, 1, 1}, Before: [3]int{0, 0, 1}, Dilation: [3]int{1, 1, 2}}
	if w.See() {
		t.Error("a window from -1 with steps of 2 sees the element 0")
	}
	w.Plan()
	sum := []float64{5}
	if WindowSumTo(sum, []float64{3}, 1, w); sum[0] != 0 {
		t.Errorf("got the sum %v, want 0", sum[0])
	}
}

// Windows of thousands of elements, which differ at the border in thousands of ways, take no
// gigabytes to plan.
func TestWindowsKeepLittle(t *testing.T) {
	w := &Windows{In: [3]int{1, 150, 150}, Size: [3]int{1, 101, 101}, Out: [3]int{1, 150, 150}, Stride: [3]int{1, 1, 1}, Before: [3]int{0, 50, 50}, Dilation: [3]int{1, 1, 1}}
	w.Plan()
	kept := map[windowBounds]int{}
	for _, r := range w.runs {
		kept[r.bounds] = len(r.seen)
	}
	total := 0
	for _, n := range kept {
		total += n
	}
	if most := mostOffsets + 101*101; total > most || len(kept) < 10000 {
		t.Errorf("got %d places kept of %d kinds of windows, want at most %d", total, len(kept), most)
	}
}

func BenchmarkWindowMax(b *testing.B) {
	w := &Windows{In: [3]int{1, 56, 56}, Size: [3]int{1, 2, 2}, Out: [3]int{1, 28, 28}, Stride: [3]int{1, 2, 2}, Dilation: [3]int{1, 1, 1}}
	w.Plan()
	x := make([]float32, 256*56*56)
	for i := range x {
		x[i] = rand.Float32()
	}
	dst, at := make([]float32, 256*28*28), make([]int64, 256*28*28)
	for b.Loop() {
		WindowMaxTo(dst, at, x, w)
	}
}
