package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// inOrder is the loop of the package's comment.
func inOrder[T dtype.Float](p *Product[T]) []T {
	c := make([]T, p.Count*p.M*p.N)
	var row []T    // of x
	var cols [][]T // of y
	for i := range c {
		x, y := p.A, p.B
		if p.At != nil {
			x.Offset, y.Offset = p.At(i / (p.M * p.N))
		}
		if i%(p.M*p.N) == 0 {
			cols = nil
			for j := range p.N {
				cols = append(cols, y.col(j, p.K))
			}
		}
		if i%p.N == 0 {
			row = x.row(i/p.N%p.M, p.K)
		}
		col := cols[i%p.N]
		if x.BF16 != nil && y.BF16 != nil {
			c[i] = pairSum(row, col, 0)
			continue
		}
		for first := 0; first < p.K; first += Block {
			var sum T
			for l := first; l < min(first+Block, p.K); l++ {
				sum = fmaOf(row[l], col[l], sum)
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

// pairSum is sum and the product of a row and a column, in the order of bfloat16.
func pairSum[T dtype.Float](row, col []T, sum T) T {
	for first := 0; first < len(row); first += PairBlock {
		var chains [2]T
		for l := first; l < min(first+PairBlock, len(row)); l++ {
			chains[l%2] = fmaOf(row[l], col[l], chains[l%2])
		}
		sum += chains[0] + chains[1]
	}
	return sum
}

// fmaOf is fma32 or math.FMA.
func fmaOf[T dtype.Float](x, y, z T) T {
	if elemBytes[T]() == 4 {
		return T(fma32(float32(x), float32(y), float32(z)))
	}
	return T(math.FMA(float64(x), float64(y), float64(z)))
}

// row returns the k elements of row i.
func (o *Operand[T]) row(i, k int) []T {
	out := make([]T, k)
	for l := range out {
		out[l] = o.number(i, l)
	}
	return out
}

// col returns the k elements of column j.
func (o *Operand[T]) col(j, k int) []T {
	out := make([]T, k)
	for l := range out {
		out[l] = o.number(l, j)
	}
	return out
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

// kernelsIn returns the kernels of T in s.
func kernelsIn[T dtype.Float](s vec.Set) *kernels[T] {
	f32, f64 := kernelsOf(s)
	if ks, ok := any(f32).(*kernels[T]); ok {
		return ks
	}
	return any(f64).(*kernels[T])
}

// specials are numbers that arithmetic treats in ways of their own.
var specials = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e38, -1e38, 1e-38, 1e-45, 1 + 0x1p-23}

// drawGrid draws how a matrix of rows by cols lies.
func drawGrid[T dtype.Float](t *rapid.T, name string, rows, cols int) Operand[T] {
	g := Grid{Offset: rapid.IntRange(0, 3).Draw(t, name+" offset")}
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
	return Operand[T]{Grid: g}
}

// last returns the greatest index of an element of o, of rows by cols.
func (o *Operand[T]) last(rows, cols int) int {
	return o.Offset + max(0, (rows-1)*o.Row) + max(0, (cols-1)*o.Col)
}

// drawOperand draws a matrix of rows by cols, its elements and how it lies.
func drawOperand[T dtype.Float](t *rapid.T, name string, rows, cols int, special bool) Operand[T] {
	o := drawGrid[T](t, name, rows, cols)
	n := o.last(rows, cols) + 1
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name+" seed"), 0))
	number := func() float64 {
		if special && r.IntN(20) == 0 {
			return specials[r.IntN(len(specials))]
		}
		return r.NormFloat64()
	}
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

// setFamily has products computed as on processors of f, until the function that it returns is called.
func setFamily(f family) (restore func()) {
	before := here
	here = f
	return func() { here = before }
}

// families are those of some processors.
var families = []family{{firstLevel, math.MaxInt, false}, {4 * firstLevel, 1 << 10, false}, {768 << 10, math.MaxInt, true}}

func testOrder[T dtype.Float](t *rapid.T) {
	p := drawProduct[T](t)
	want := inOrder(p)
	defer setFamily(rapid.SampledFrom(families).Draw(t, "family"))()
	for _, s := range vec.Sets() {
		for helpers := range 3 {
			p.C = poisoned[T](p.M * p.N)
			p.compute(kernelsIn[T](s), crew.Of(helpers))
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

// layouts are ways in which operands of a product lie: by rows, N, or by
// columns, T.
var layouts = []string{"NN", "NT", "TN", "TT"}

// randomProduct returns a product of random matrices that lie as layout says.
func randomProduct[T dtype.Float](m, n, k int, layout string) *Product[T] {
	matrix := func(rows, cols int, trans byte) Operand[T] {
		o := Operand[T]{Data: make([]T, rows*cols), Grid: Grid{Row: cols, Col: 1}}
		if trans == 'T' {
			o.Grid = Grid{Row: 1, Col: rows}
		}
		for i := range o.Data {
			o.Data[i] = T(rand.NormFloat64())
		}
		return o
	}
	return &Product[T]{M: m, N: n, K: k, Count: 1, A: matrix(m, k, layout[0]), B: matrix(k, n, layout[1]), C: poisoned[T](m * n)}
}

// pathSizes lead down every path: both operands where they lie, one, none; by
// blocks, by panels, in streams, turned, both; several blocks, groups and parts of each dim.
var pathSizes = [][3]int{
	{1, 1, 1}, {1, 1, 700}, {1, 1, 768}, {1, 1, 5000}, {1, 300, 300}, {300, 1, 300}, {1, 300, 1030}, {5, 7, 3}, {3, 300, 600}, {8, 40, 520}, {12, 100, 300},
	{300, 3, 300}, {20, 100, 300}, {27, 33, 257}, {40, 40, 40}, {100, 90, 256}, {170, 30, 300}, {350, 35, 257}, {300, 60, 1030}, {200, 40, 1024}, {20000, 3, 2},
	{600, 2, 478}, {2, 530, 601}, {6, 1030, 270}, {7, 1024, 300}, {16, 1024, 257}, {19, 2048, 300}, {28, 2048, 257},
}

func testPaths[T dtype.Float](t *testing.T) {
	for _, size := range pathSizes {
		first := randomProduct[T](size[0], size[1], size[2], layouts[0])
		want := inOrder(first)
		for _, layout := range layouts {
			p := randomProduct[T](size[0], size[1], size[2], layout)
			p.A.copyOf(&first.A, p.M, p.K)
			p.B.copyOf(&first.B, p.K, p.N)
			for _, f := range families {
				checkPaths(t, p, f, want)
			}
		}
	}
}

// copyOf takes the elements of other, of rows and cols, wherever they lie there.
func (o *Operand[T]) copyOf(other *Operand[T], rows, cols int) {
	for i := range rows {
		for j := range cols {
			o.Data[o.Offset+i*o.Row+j*o.Col] = other.number(i, j)
		}
	}
}

// checkPaths computes p by the paths that it takes on processors of f. The portable kernels, which
// take most of the time, do so on one goroutine or on three.
func checkPaths[T dtype.Float](t *testing.T, p *Product[T], f family, want []T) {
	t.Helper()
	defer setFamily(f)()
	for _, s := range vec.Sets() {
		for _, goroutines := range []int{1, 3} {
			if s == vec.Portable && (goroutines == 1) != (f == families[0]) {
				continue
			}
			p.C = poisoned[T](len(want))
			var one shape[T]
			one.begin(kernelsIn[T](s), p, 0)
			one.plan(goroutines)
			one.shared = 1 << 14 // several groups
			one.run(crew.Of(goroutines - 1))
			expect(t, p, fmt.Sprintf("%v, %+v", s, f), p.C, want)
		}
	}
}

func testStreamedPart[T dtype.Float](t *testing.T) {
	for _, m := range []int{6, 16, 28} {
		p := randomProduct[T](m, 2048, 300, "NN")
		p.N, p.C = 1000, p.C[:m*1000]
		want := inOrder(p)
		for _, s := range vec.Sets() {
			for helpers := range 2 {
				p.C = poisoned[T](len(want))
				p.compute(kernelsIn[T](s), crew.Of(helpers))
				expect(t, p, s, p.C, want)
			}
		}
	}
}

// A b whose rows lie pages apart passes by though it is a part of them and no whole
// number of panels.
func TestStreamedPart(t *testing.T) {
	defer setFamily(families[2])()
	t.Run("f32", testStreamedPart[float32])
	t.Run("f64", testStreamedPart[float64])
}

// Every product gives the documented sum, whatever path it takes on a processor of any family.
func TestPaths(t *testing.T) {
	t.Run("f32", testPaths[float32])
	t.Run("f64", testPaths[float64])
}

// What is read where it lies is a whole number of KiB, and no less than what the first-level cache holds.
func TestFamilyHere(t *testing.T) {
	if n := familyHere().near; n < firstLevel || n%1024 != 0 || n > 64<<20 {
		t.Errorf("operands of up to %d bytes are read where they lie, want %d or a part of a second-level cache", n, firstLevel)
	}
}

// A batch gives what its products give one by one, whoever computes them.
func testBatch[T dtype.Float](t *rapid.T) {
	p := drawProduct[T](t)
	p.Count = rapid.IntRange(1, 9).Draw(t, "count")
	stepA, stepB := rapid.IntRange(0, 1).Draw(t, "step of a"), rapid.IntRange(0, 2).Draw(t, "step of b")
	p.A.grow(p.Count * stepA)
	p.B.grow(p.Count * stepB)
	a, b := p.A.Offset, p.B.Offset
	p.At = func(i int) (int, int) { return a + i*stepA, b + i*stepB }
	want := inOrder(p)
	for _, s := range vec.Sets() {
		for helpers := range 3 {
			p.C = poisoned[T](len(want))
			p.compute(kernelsIn[T](s), crew.Of(helpers))
			expect(t, p, s, p.C, want)
		}
	}
}

// grow adds n elements.
func (o *Operand[T]) grow(n int) {
	switch {
	case o.F16 != nil:
		o.F16 = append(o.F16, make([]dtype.F16, n)...)
	case o.BF16 != nil:
		o.BF16 = append(o.BF16, make([]dtype.BF16, n)...)
	default:
		o.Data = append(o.Data, poisoned[T](n)...)
	}
}

func TestBatch(t *testing.T) {
	t.Run("f32", rapid.MakeCheck(testBatch[float32]))
	t.Run("f64", rapid.MakeCheck(testBatch[float64]))
}

// The sums are right: near those of gonum, which adds in another order, by the
// usual bound of k roundings of the sum of sizes.
func TestAgainstGonum(t *testing.T) {
	for _, size := range [][3]int{{517, 517, 517}, {1, 2000, 800}, {2000, 3, 800}, {64, 64, 64}} {
		m, n, k := size[0], size[1], size[2]
		p := randomProduct[float64](m, n, k, "NN")
		Multiply(crew.NewWorkers(1), *p)
		want, sizes := make([]float64, m*n), make([]float64, m*n)
		gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, p.A.Data, k, p.B.Data, n, 0, want, n)
		a, b := absolute(p.A.Data), absolute(p.B.Data)
		gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, k, b, n, 0, sizes, n)
		near(t, "f64", p.C, want, sizes, float64(k)*0x1p-53)

		q := randomProduct[float32](m, n, k, "NN")
		copyTo(p.A.Data, q.A.Data)
		copyTo(p.B.Data, q.B.Data)
		Multiply(nil, *q)
		gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, p.A.Data, k, p.B.Data, n, 0, want, n)
		a, b = absolute(p.A.Data), absolute(p.B.Data)
		gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, k, b, n, 0, sizes, n)
		near(t, "f32", q.C, want, sizes, float64(k)*0x1p-24)
	}
}

func copyTo(dst []float64, src []float32) {
	for i, x := range src {
		dst[i] = float64(x)
	}
}

func absolute(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Abs(v)
	}
	return y
}

// near fails unless each of got is as near to want as size times rel.
func near[T dtype.Float](t *testing.T, name string, got []T, want, size []float64, rel float64) {
	t.Helper()
	for i, x := range got {
		if d := math.Abs(float64(x) - want[i]); !(d <= rel*size[i]) {
			t.Fatalf("%s: element %d is %v, want %v within %g", name, i, x, want[i], rel*size[i])
		}
	}
}

// Products without elements, and those of no inner steps, which are zeros.
func TestEmpty(t *testing.T) {
	for _, size := range [][3]int{{0, 0, 0}, {0, 3, 2}, {3, 0, 2}, {2, 3, 0}} {
		p := Product[float32]{M: size[0], N: size[1], K: size[2], Count: 2, C: poisoned[float32](2 * size[0] * size[1])}
		Multiply(nil, p)
		for i, x := range p.C {
			if x != 0 {
				t.Errorf("[%d, %d] by [%d, %d]: element %d is %v, want 0", p.M, p.K, p.K, p.N, i, x)
			}
		}
	}
}

// What does not fit its slice is a defect of the caller.
func TestChecks(t *testing.T) {
	good := func() *Product[float64] { return randomProduct[float64](3, 4, 5, "NN") }
	for name, spoil := range map[string]func(p *Product[float64]){
		"a short c":         func(p *Product[float64]) { p.C = p.C[1:] },
		"a long c":          func(p *Product[float64]) { p.M = 2 },
		"an a out of range": func(p *Product[float64]) { p.A.Offset = 1 },
		"a b out of range":  func(p *Product[float64]) { p.B.Row = 5 },
		"a negative stride": func(p *Product[float64]) { p.B.Row = -1 },
		"a batch's offset":  func(p *Product[float64]) { p.At = func(int) (int, int) { return 0, -1 } },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			p := good()
			spoil(p)
			Multiply(nil, *p)
		}()
	}
	Multiply(nil, *good())
}
