package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
)

// inOrder is the loop of the package's comment.
func inOrder[T dtype.Float](p *Product[T]) []T {
	c := make([]T, p.Count*p.M*p.N)
	for i := range c {
		x, y := p.A, p.B
		if p.At != nil {
			x.Offset, y.Offset = p.At(i / (p.M * p.N))
		}
		row, col := i/p.N%p.M, i%p.N
		for first := 0; first < p.K; first += Block {
			var sum T
			for l := first; l < min(first+Block, p.K); l++ {
				sum = fmaOf(x.number(row, l), y.number(l, col), sum)
			}
			if first == 0 {
				c[i] = sum
			} else {
				c[i] += sum
			}
		}
	}
	return c
}

// fmaOf is fma32 or math.FMA.
func fmaOf[T dtype.Float](x, y, z T) T {
	if elemBytes[T]() == 4 {
		return T(fma32(float32(x), float32(y), float32(z)))
	}
	return T(math.FMA(float64(x), float64(y), float64(z)))
}

// number returns element [i, j].
func (o *Operand[T]) number(i, j int) T {
	switch p := o.Offset + i*o.Row + j*o.Col; {
	case o.F16 != nil:
		return T(o.F16[p].Float32())
	case o.BF16 != nil:
		return T(o.BF16[p].Float32())
	default:
		return o.Data[p]
	}
}

// sets are the sets of instructions of this machine.
func sets() []kernel.Set {
	var s []kernel.Set
	for i := kernel.Portable; i <= kernel.Best(); i++ {
		s = append(s, i)
	}
	return s
}

// kernelsIn returns the kernels of T in s.
func kernelsIn[T dtype.Float](s kernel.Set) *kernels[T] {
	f32, f64 := kernelsOf(s)
	if ks, ok := any(f32).(*kernels[T]); ok {
		return ks
	}
	return any(f64).(*kernels[T])
}

// specials are numbers that arithmetic treats in ways of their own.
var specials = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e38, -1e38, 1e-38, 1e-45, 1 + 0x1p-23}

// drawOperand draws a matrix of rows by cols, its elements and how it lies.
func drawOperand[T dtype.Float](t *rapid.T, name string, rows, cols int, special bool) Operand[T] {
	g := kernel.Grid{Offset: rapid.IntRange(0, 3).Draw(t, name+" offset")}
	gap := rapid.IntRange(0, 3).Draw(t, name+" gap")
	switch rapid.IntRange(0, 6).Draw(t, name+" layout") {
	case 0, 1:
		g.Row, g.Col = cols+gap, 1
	case 2, 3:
		g.Row, g.Col = 1, rows+gap
	case 4:
		g.Row, g.Col = 2*cols+gap, 2
	case 5:
		g.Row, g.Col = rapid.IntRange(0, 1).Draw(t, name+" row"), rapid.IntRange(0, 1).Draw(t, name+" col")
	default: // upside down
		g.Row, g.Col = -cols-gap, 1
		g.Offset += (rows - 1) * (cols + gap)
	}
	n := g.Offset + max(0, (rows-1)*g.Row) + max(0, (cols-1)*g.Col) + 1
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name+" seed"), 0))
	number := func() float64 {
		if special && r.IntN(20) == 0 {
			return specials[r.IntN(len(specials))]
		}
		return r.NormFloat64()
	}
	o := Operand[T]{Grid: g}
	kind := 0
	if elemBytes[T]() == 4 {
		kind = rapid.IntRange(0, 4).Draw(t, name+" dtype")
	}
	for range n {
		switch x := number(); kind {
		case 3:
			o.F16 = append(o.F16, dtype.ToF16(float32(x)))
		case 4:
			o.BF16 = append(o.BF16, dtype.ToBF16(float32(x)))
		default:
			o.Data = append(o.Data, T(x))
		}
	}
	return o
}

// drawProduct draws sizes and operands; the products are small enough for the
// loop.
func drawProduct[T dtype.Float](t *rapid.T) *Product[T] {
	size := rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(1, 40), rapid.IntRange(1, 600))
	p := &Product[T]{M: size.Draw(t, "m"), N: size.Draw(t, "n"), K: size.Draw(t, "k"), Count: 1}
	for p.M*p.N*p.K > 1<<19 {
		p.M, p.N, p.K = (p.N+1)/2, p.K, p.M
	}
	special := rapid.Bool().Draw(t, "special")
	p.A, p.B = drawOperand[T](t, "a", p.M, p.K, special), drawOperand[T](t, "b", p.K, p.N, special)
	return p
}

// same reports whether x and y have the same bits, or are both NaN.
func same[T dtype.Float](x, y T) bool {
	return x == y && math.Signbit(float64(x)) == math.Signbit(float64(y)) || x != x && y != y
}

// poisoned returns n NaN.
func poisoned[T dtype.Float](n int) []T {
	c := make([]T, n)
	for i := range c {
		c[i] = T(math.NaN())
	}
	return c
}

// expect fails unless got is want.
func expect[T dtype.Float](t rapid.TB, p *Product[T], what any, got, want []T) {
	t.Helper()
	for i := range got {
		if !same(got[i], want[i]) {
			t.Fatalf("%v: %d of [%d, %d] by [%d, %d], %+v by %+v: element %d is %v, want %v", what,
				p.Count, p.M, p.K, p.K, p.N, p.A.Grid, p.B.Grid, i, got[i], want[i])
		}
	}
}

func testOrder[T dtype.Float](t *rapid.T) {
	p := drawProduct[T](t)
	want := inOrder(p)
	for _, s := range sets() {
		for helpers := range 3 {
			p.C = poisoned[T](p.M * p.N)
			p.compute(kernelsIn[T](s), crew{helpers: helpers})
			expect(t, p, s, p.C, want)
		}
	}
}

// Every set of instructions and number of goroutines gives the documented sum,
// bit for bit, however the operands lie.
func TestOrder(t *testing.T) {
	t.Run("f32", rapid.MakeCheck(testOrder[float32]))
	t.Run("f64", rapid.MakeCheck(testOrder[float64]))
}
