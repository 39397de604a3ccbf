package gemm

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// A fence is memory between two pages that nobody may touch.
type fence struct{ room []byte }

// newFence returns a fence around at least n bytes.
func newFence(t testing.TB, n int) fence {
	page := os.Getpagesize()
	n = ceil(n, page) * page
	all, err := unix.Mmap(-1, 0, n+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, guard := range [][]byte{all[:page], all[page+n:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return fence{all[page : page+n]}
}

// fenced returns a copy of x in f: against its end, or its beginning.
func fenced[E any](f fence, x []E, end bool) []E {
	if len(x) == 0 {
		return x
	}
	size := len(x) * int(unsafe.Sizeof(x[0]))
	at := 0
	if end {
		at = len(f.room) - size
	}
	y := unsafe.Slice((*E)(unsafe.Pointer(&f.room[at])), len(x))
	copy(y, x)
	return y
}

// fencedOperand returns o with its elements in f.
func fencedOperand[T dtype.Float](f fence, o Operand[T], end bool) Operand[T] {
	o.Data, o.F16, o.BF16 = fenced(f, o.Data, end), fenced(f, o.F16, end), fenced(f, o.BF16, end)
	return o
}

// testFences multiplies operands of which one element more or less is memory
// that may not be touched.
func testFences[T dtype.Float](t *testing.T) {
	debug.SetPanicOnFault(true)
	a, b, c := newFence(t, 32<<20), newFence(t, 32<<20), newFence(t, 4<<20)
	rapid.Check(t, func(t *rapid.T) {
		p := drawProduct[T](t)
		want := inOrder(p)
		end := rapid.Bool().Draw(t, "at the end")
		p.A, p.B = fencedOperand(a, p.A, end), fencedOperand(b, p.B, end)
		for _, s := range vec.Sets() {
			p.C = fenced(c, poisoned[T](len(want)), end)
			defer func() {
				if r := recover(); r != nil {
					panic(fmt.Sprintf("%v: [%d, %d] by [%d, %d], %+v by %+v: %v", s, p.M, p.K, p.K, p.N, p.A.Grid, p.B.Grid, r))
				}
			}()
			p.compute(kernelsIn[T](s), crew.Crew{})
			expect(t, p, s, p.C, want)
		}
	})
}

// Nothing is read or written beside the elements of the operands.
func TestFences(t *testing.T) {
	t.Run("f32", testFences[float32])
	t.Run("f64", testFences[float64])
}

// The kernels of one channel neither.
func TestSlideFences(t *testing.T) {
	debug.SetPanicOnFault(true)
	x, y, c := newFence(t, 1<<16), newFence(t, 1<<16), newFence(t, 1<<16)
	eachSlide[float32](func(set vec.Set) {
		lanes := RowLanes[float32]()
		for _, end := range []bool{false, true} {
			for n := lanes; n < 6*lanes; n += 3 {
				s := NewSlide[float32]([]int{0, 2, 1}, []int{2, 1})
				s.To(fenced(c, make([]float32, 3*n), end), n, fenced(x, make([]float32, 3*n+2), end), n, fenced(y, make([]float32, 3), end), n, 3)
				RowSums(fenced(c, make([]float32, 11*lanes), end), fenced(x, make([]float32, (n+1)*lanes), end), lanes,
					fenced(y, make([]float32, n*lanes), end), lanes, []int{0, lanes, 0, 0, 0, 0, 0, 0, 0, lanes, 0}, n)
				Turn(fenced(c, make([]float32, n*lanes), end), lanes, fenced(x, make([]float32, n*(lanes-1)), end), n, lanes-1, n)
			}
		}
	})
}

// Nor copies of rows whose elements lie apart.
func testApartFences[T dtype.Float](t *testing.T) {
	debug.SetPanicOnFault(true)
	near, far := newFence(t, 1<<12), newFence(t, 1<<13)
	eachApart(func(_ vec.Set, apart, n, rows int) {
		for _, end := range []bool{false, true} {
			x, y := fenced(near, make([]T, rows*n), end), fenced(far, make([]T, rows*n*apart-apart+1), end)
			CopyFromApart(x, n, y, n*apart, apart, n, rows)
			CopyToApart(y, n*apart, apart, x, n, n, rows)
		}
	})
}

func TestApartFences(t *testing.T) {
	t.Run("f32", testApartFences[float32])
	t.Run("f64", testApartFences[float64])
}
