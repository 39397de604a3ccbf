package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

// plainLibrary is a Library in loops, which counts its calls.
type plainLibrary struct{ calls int }

func (l *plainLibrary) Sgemm(transA, transB bool, m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int) {
	l.calls++
	byColumns(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
}

func (l *plainLibrary) Dgemm(transA, transB bool, m, n, k int, a *float64, lda int, b *float64, ldb int, c *float64, ldc int) {
	l.calls++
	byColumns(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
}

// byColumns is the product that a Library computes, summed from the last term
// to the first.
func byColumns[T dtype.Float](transA, transB bool, m, n, k int, a *T, lda int, b *T, ldb int, c *T, ldc int) {
	at := func(p *T, trans bool, i, j, ld, rows, cols int) T {
		if trans {
			i, j, rows = j, i, cols
		}
		if ld < rows {
			panic(fmt.Sprintf("columns of %d elements that are %d apart", rows, ld))
		}
		return *(*T)(unsafe.Add(unsafe.Pointer(p), uintptr(i+j*ld)*unsafe.Sizeof(*p)))
	}
	for i := range m {
		for j := range n {
			var sum T
			for l := k - 1; l >= 0; l-- {
				sum += at(a, transA, i, l, lda, m, k) * at(b, transB, l, j, ldb, k, n)
			}
			unsafe.Slice(c, (n-1)*ldc+m)[i+j*ldc] = sum
		}
	}
}

// withLibrary calls f while products are left to l.
func withLibrary(l Library, f func()) {
	UseLibrary(l)
	defer UseLibrary(nil)
	f()
}

// expectNear fails unless got is inOrder of p but for the rounding of sums in
// another order: of k terms, by a few units in the last place of the sum of
// their magnitudes for each doubling of k.
func expectNear[T dtype.Float](t rapid.TB, p *Product[T], got []T) {
	t.Helper()
	want, magnitude := inOrder(p), *p
	magnitude.A, magnitude.B = magnitudes(p.A), magnitudes(p.B)
	ulp := 0x1p-23
	if elemBytes[T]() == 8 {
		ulp = 0x1p-52
	}
	for i, bound := range inOrder(&magnitude) {
		slack := 4 * ulp * math.Sqrt(float64(p.K)) * float64(bound)
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= slack) {
			t.Fatalf("[%d, %d] by [%d, %d], %+v by %+v: element %d is %v, want %v within %.3g", p.M, p.K, p.K, p.N, p.A.Grid, p.B.Grid, i, got[i], want[i], slack)
		}
	}
}

// magnitudes returns o with the magnitudes of its elements.
func magnitudes[T dtype.Float](o Operand[T]) Operand[T] {
	data := make([]T, len(o.Data))
	for i, x := range o.Data {
		data[i] = T(math.Abs(float64(x)))
	}
	o.Data = data
	return o
}

// drawReadable draws a product of operands that a library can read.
func drawReadable[T dtype.Float](t *rapid.T) *Product[T] {
	size := rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 40), rapid.IntRange(30, 300))
	p := &Product[T]{M: size.Draw(t, "m"), N: size.Draw(t, "n"), K: size.Draw(t, "k"), Count: 1}
	p.A, p.B = drawLaidOut[T](t, "a", p.M, p.K), drawLaidOut[T](t, "b", p.K, p.N)
	p.C = poisoned[T](p.M * p.N)
	return p
}

// drawLaidOut draws a matrix whose rows or columns are contiguous.
func drawLaidOut[T dtype.Float](t *rapid.T, name string, rows, cols int) Operand[T] {
	gap := rapid.IntRange(0, 3).Draw(t, name+" gap")
	o := Operand[T]{Grid: Grid{Offset: rapid.IntRange(0, 3).Draw(t, name+" offset"), Row: cols + gap, Col: 1}}
	if rapid.Bool().Draw(t, name+" by columns") {
		o.Row, o.Col = 1, rows+gap
	}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name+" seed"), 0))
	for range o.Offset + (rows-1)*o.Row + (cols-1)*o.Col + 1 {
		o.Data = append(o.Data, T(r.NormFloat64()))
	}
	return o
}

func testReadable[T dtype.Float](t *rapid.T) {
	p, l := drawReadable[T](t), &plainLibrary{}
	withLibrary(l, func() { Multiply(nil, *p) })
	if l.calls != 1 {
		t.Fatalf("%+v by %+v: %d calls of the library, want 1", p.A.Grid, p.B.Grid, l.calls)
	}
	expectNear(t, p, p.C)
}

// A library gets what it can read, in its own terms.
func TestLibrary(t *testing.T) {
	t.Run("f32", rapid.MakeCheck(testReadable[float32]))
	t.Run("f64", rapid.MakeCheck(testReadable[float64]))
}

// With a library at hand, what it cannot read is computed as ever, and what it
// can is right.
func TestLibraryOfAnyLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, l := drawProduct[float32](t), &plainLibrary{}
		p.A.F16, p.A.BF16, p.B.F16, p.B.BF16 = nil, nil, nil, nil
		if p.A.Data == nil || p.B.Data == nil {
			return // of 16 bits: see TestLibraryCalls
		}
		for _, data := range [][]float32{p.A.Data, p.B.Data} {
			for i, x := range data {
				if x-x != 0 || x > 1e30 || x < -1e30 {
					data[i] = 1
				}
			}
		}
		p.C = poisoned[float32](p.M * p.N)
		withLibrary(l, func() { Multiply(nil, *p) })
		if l.calls == 0 {
			expect(t, p, "without the library", p.C, inOrder(p))
		} else {
			expectNear(t, p, p.C)
		}
	})
}

// A library does not get numbers of 16 bits, and gets every product of a batch.
func TestLibraryCalls(t *testing.T) {
	l := &plainLibrary{}
	one := Operand[float32]{Data: []float32{1, 2, 3, 4}, Grid: Grid{Row: 2, Col: 1}}
	half := Operand[float32]{BF16: []dtype.BF16{dtype.ToBF16(1), dtype.ToBF16(2), dtype.ToBF16(3), dtype.ToBF16(4)}, Grid: one.Grid}
	c := make([]float32, 12)
	withLibrary(l, func() {
		Multiply(nil, Product[float32]{M: 2, N: 2, K: 2, Count: 1, C: c[:4], A: one, B: half})
		if l.calls != 0 || c[0] != 7 {
			t.Errorf("of 16 bits: %d calls and %v, want 0 and 7", l.calls, c[0])
		}
		Multiply(nil, Product[float32]{M: 2, N: 2, K: 2, Count: 3, C: c, A: one, B: one, At: func(int) (a, b int) { return 0, 0 }})
	})
	if l.calls != 3 || c[11] != 22 {
		t.Errorf("of three: %d calls and %v, want 3 and 22", l.calls, c[11])
	}
}
