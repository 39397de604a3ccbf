package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// attentionCase draws an attention of which all is a multiple of 1/8.
func attentionCase(t *rapid.T) *Attention[float64] {
	size := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
	a := &Attention[float64]{L: size("l", 150), S: size("s", 300), Size: size("size", 5), Width: size("width", 5), Scale: 0.5}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(r.IntN(65)-32) / 8
		}
		return x
	}
	a.Q, a.K, a.V = draw(a.L*a.Size), draw(a.S*a.Size), draw(a.S*a.Width)
	a.GridQ, a.GridK, a.GridV = Grid{0, a.Size, 1}, Grid{0, 1, a.S}, Grid{0, a.Width, 1} // k lies in columns
	a.Causal = rapid.Bool().Draw(t, "causal")
	a.Cap = rapid.SampledFrom([]float64{0, 1.5, 20}).Draw(t, "cap")
	if rapid.Bool().Draw(t, "masked") {
		a.Mask = func(dst []float64, i, key int) {
			for j := range dst {
				if (i*31+(key+j)*17)%5 == 0 || i%7 == 3 {
					dst[j] = math.Inf(-1)
				}
			}
		}
	}
	return a
}

// score returns the score of query i on key j, without a Cap.
func (a *Attention[T]) score(i, j int) T {
	x := T(0)
	for e := range a.Size {
		x += a.Q[i*a.Size+e] * a.K[j*a.GridK.Row+e*a.GridK.Col] * a.Scale
	}
	return x
}

// weights returns the weights of a, without tiles.
func (a *Attention[T]) weights() [][]float64 {
	p := make([][]float64, a.L)
	for i := range p {
		row := make([]T, a.S)
		for j := range row {
			row[j] = a.score(i, j)
			if a.Cap != 0 {
				row[j] = a.Cap * T(math.Tanh(float64(row[j]/a.Cap)))
			}
			if a.Causal && j > i {
				row[j] = T(math.Inf(-1))
			}
		}
		if a.Mask != nil {
			a.Mask(row, i, 0)
		}
		p[i] = make([]float64, a.S)
		if norm := logNorm(row); norm == norm {
			for j, v := range row {
				p[i][j] = math.Exp(float64(v) - norm)
			}
		}
	}
	return p
}

// In tiles, attention and its gradients are what their formulas give.
func TestAttention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := attentionCase(t)
		p, e, w := a.weights(), a.Size, a.Width
		y := make([]float64, a.L*w)
		dy, dp := make([]float64, a.L*w), make([]float64, a.S)
		wantQ, wantK, wantV := make([]float64, a.L*e), make([]float64, a.S*e), make([]float64, a.S*w)
		for i := range dy {
			dy[i] = float64(i%9-4) / 4
		}
		for i := range a.L {
			dot := 0.0
			for j := range a.S {
				dp[j] = 0
				for d := range w {
					y[i*w+d] += p[i][j] * a.V[j*w+d]
					dp[j] += dy[i*w+d] * a.V[j*w+d]
					wantV[j*w+d] += p[i][j] * dy[i*w+d]
				}
				dot += p[i][j] * dp[j]
			}
			for j := range a.S {
				ds := p[i][j] * (dp[j] - dot) * a.Scale
				if a.Cap != 0 {
					y := math.Tanh(a.score(i, j) / a.Cap)
					ds *= 1 - y*y
				}
				for d := range e {
					wantQ[i*e+d] += ds * a.K[j*a.GridK.Row+d*a.GridK.Col]
					wantK[j*e+d] += ds * a.Q[i*e+d]
				}
			}
		}
		got, room := make([]float64, a.L*w), &AttentionRoom[float64]{}
		a.Forward(got, room)
		near(t, "y", got, y, 1e-11, 1)
		dq, dk, dv := make([]float64, len(wantQ)), make([]float64, len(wantK)), make([]float64, len(wantV))
		a.Backward(dq, dk, dv, dy, y, room)
		near(t, "dq", dq, wantQ, 1e-10, 1)
		near(t, "dk", dk, wantK, 1e-10, 1)
		near(t, "dv", dv, wantV, 1e-10, 1)

		b := narrowed(a)
		small, sdy := make([]float32, len(y)), make([]float32, len(dy))
		b.Forward(small, &AttentionRoom[float32]{})
		near(t, "y in float32", small, y, 1e-4, 1)
		for i, v := range dy {
			sdy[i] = float32(v)
		}
		sq, sk, sv := make([]float32, len(dq)), make([]float32, len(dk)), make([]float32, len(dv))
		b.Backward(sq, sk, sv, sdy, small, &AttentionRoom[float32]{})
		near(t, "dq in float32", sq, wantQ, 2e-3, 1)
		near(t, "dk in float32", sk, wantK, 2e-3, 1)
		near(t, "dv in float32", sv, wantV, 2e-3, 1)
	})
}

// narrowed returns a in float32.
func narrowed(a *Attention[float64]) *Attention[float32] {
	narrow := func(x []float64) []float32 {
		y := make([]float32, len(x))
		for i, v := range x {
			y[i] = float32(v)
		}
		return y
	}
	b := &Attention[float32]{
		Q: narrow(a.Q), K: narrow(a.K), V: narrow(a.V), GridQ: a.GridQ, GridK: a.GridK, GridV: a.GridV,
		L: a.L, S: a.S, Size: a.Size, Width: a.Width, Scale: float32(a.Scale), Cap: float32(a.Cap), Causal: a.Causal,
	}
	if a.Mask != nil {
		b.Mask = func(dst []float32, i, key int) {
			wide := make([]float64, len(dst))
			a.Mask(wide, i, key)
			for j, v := range wide {
				dst[j] += float32(v)
			}
		}
	}
	return b
}

// A query's result has the same bits whichever queries are beside it, whether
// keys behind it are hidden by Causal or by a mask, and in every instruction set.
func TestAttentionBits(t *testing.T) {
	defer Use(Best())
	rapid.Check(t, func(t *rapid.T) {
		Use(Best())
		a := narrowed(attentionCase(t))
		want := make([]float32, a.L*a.Width)
		a.Forward(want, &AttentionRoom[float32]{})
		from := rapid.IntRange(0, a.L-1).Draw(t, "from")
		part := *a
		part.L, part.GridQ = a.L-from, rowsFrom(a.GridQ, from)
		part.Causal = false
		part.Mask = func(dst []float32, i, key int) {
			i += from
			if a.Mask != nil {
				a.Mask(dst, i, key)
			}
			for j := range dst {
				if a.Causal && key+j > i {
					dst[j] = float32(math.Inf(-1))
				}
			}
		}
		room := &AttentionRoom[float32]{} // as heads have one in common
		for s := Portable; s <= Best(); s++ {
			Use(s)
			got := make([]float32, part.L*a.Width)
			part.Forward(got, room)
			for i, v := range got {
				if w := want[from*a.Width+i]; !sameBits(v, w) {
					t.Fatalf("%v, from query %d: element %d is %v, want %v", s, from, i, v, w)
				}
			}
		}
	})
}

func BenchmarkAttention(b *testing.B) {
	for _, n := range []int{128, 1024} {
		const e = 64
		x := make([]float32, n*e)
		for i := range x {
			x[i] = float32(i%13)/13 - 0.5
		}
		g := Grid{0, e, 1}
		a := &Attention[float32]{Q: x, K: x, V: x, GridQ: g, GridK: g, GridV: g, L: n, S: n, Size: e, Width: e, Scale: 0.125}
		y := make([]float32, n*e)
		b.Run(fmt.Sprintf("f32/forward/%dx%d", n, e), func(b *testing.B) {
			for b.Loop() {
				a.Forward(y, &AttentionRoom[float32]{})
			}
			b.ReportMetric(float64(4*n*n*e)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
		dq, dk, dv := make([]float32, n*e), make([]float32, n*e), make([]float32, n*e)
		b.Run(fmt.Sprintf("f32/backward/%dx%d", n, e), func(b *testing.B) {
			for b.Loop() {
				a.Backward(dq, dk, dv, y, y, &AttentionRoom[float32]{})
			}
			b.ReportMetric(float64(12*n*n*e)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
