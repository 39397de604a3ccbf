package op

import (
	goruntime "runtime"
	"slices"
	"sync"
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// This file runs elementwise kernels on tensors. Kernels know flat slices of
// one Go type; tensors have shapes, strides, and dtypes that differ. The
// engine walks the result in row-major order, block by block: it loads each
// operand's block in the dtype of the computation, runs the kernel, and stores
// the block. What lies as the kernel wants it is not copied, and a call whose
// operands all do is one run of the kernel over whole slices.
//
// A kernel computes in float32, float64, int64, int32 or uint8. Floats of 8 and 16
// bits are loaded as float32 and rounded when they are stored, integers of other sizes
// as int32 or int64, of which the low bits are stored. Bools are bytes, 0
// or 1; a kernel that stores into a bool tensor gives only these.

// blockSize is how many elements a block has at most: blocks of three operands
// stay in the first-level cache.
const blockSize = 1024

// LeastPart is how many elements a part of a call has at least that runs on a core of its own: to
// call another takes some microseconds.
const LeastPart = 64 * blockSize

// run1 runs f over x, broadcast to the shape of dst, on parts of them at a time where w are free.
func run1[D, T dtype.Number](w *crew.Workers, dst, x *tensor.Tensor, f func(dst []D, x []T)) {
	n := dst.Numel()
	d, in := direct[D](dst)
	xs, like := directLike[T](x, dst)
	switch {
	case in && like && n < 2*LeastPart:
		f(d, xs)
	case in && like:
		w.Split(n, LeastPart, func(lo, hi int) { f(d[lo:hi], xs[lo:hi]) })
	case n < 2*LeastPart:
		run1Blocks(dst, x, 0, n, f)
	default:
		w.Split(n, LeastPart, func(lo, hi int) { run1Blocks(dst, x, lo, hi, f) })
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(dst)
}

// run1Blocks runs f over elements lo to hi, block by block.
func run1Blocks[D, T dtype.Number](dst, x *tensor.Tensor, lo, hi int, f func(dst []D, x []T)) {
	out, xs := newSink[D](dst), newSource[T](x, dst.Shape())
	out.borrow(hi-lo, x)
	xs.borrow(hi - lo)
	for lo < hi {
		end := xs.rowEnd(lo, min(lo+blockSize, hi))
		f(out.block(lo, end), xs.block(lo, end))
		out.store(lo, end)
		lo = end
	}
	out.release()
	xs.release()
}

// run2 is run1 of x and y.
func run2[D, S, T dtype.Number](w *crew.Workers, dst, x, y *tensor.Tensor, f func(dst []D, x []S, y []T)) {
	n := dst.Numel()
	d, in := direct[D](dst)
	xs, xLike := directLike[S](x, dst)
	ys, yLike := directLike[T](y, dst)
	switch all := in && xLike && yLike; {
	case all && n < 2*LeastPart:
		f(d, xs, ys)
	case all:
		w.Split(n, LeastPart, func(lo, hi int) { f(d[lo:hi], xs[lo:hi], ys[lo:hi]) })
	case n < 2*LeastPart:
		run2Blocks(dst, x, y, 0, n, f)
	default:
		w.Split(n, LeastPart, func(lo, hi int) { run2Blocks(dst, x, y, lo, hi, f) })
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(y)
	goruntime.KeepAlive(dst)
}

// run2Blocks runs f over elements lo to hi, block by block.
func run2Blocks[D, S, T dtype.Number](dst, x, y *tensor.Tensor, lo, hi int, f func(dst []D, x []S, y []T)) {
	s := dst.Shape()
	out, xs, ys := newSink[D](dst), newSource[S](x, s), newSource[T](y, s)
	out.borrow(hi-lo, x, y)
	xs.borrow(hi - lo)
	ys.borrow(hi - lo)
	for lo < hi {
		end := ys.rowEnd(lo, xs.rowEnd(lo, min(lo+blockSize, hi)))
		f(out.block(lo, end), xs.block(lo, end), ys.block(lo, end))
		out.store(lo, end)
		lo = end
	}
	out.release()
	xs.release()
	ys.release()
}

// run3 is run1 of x, y and z.
func run3[D, R, S, T dtype.Number](w *crew.Workers, dst, x, y, z *tensor.Tensor, f func(dst []D, x []R, y []S, z []T)) {
	if n := dst.Numel(); n < 2*LeastPart {
		run3Blocks(dst, x, y, z, 0, n, f)
	} else {
		w.Split(n, LeastPart, func(lo, hi int) { run3Blocks(dst, x, y, z, lo, hi, f) })
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(y)
	goruntime.KeepAlive(z)
	goruntime.KeepAlive(dst)
}

// run3Blocks runs f over elements lo to hi, block by block.
func run3Blocks[D, R, S, T dtype.Number](dst, x, y, z *tensor.Tensor, lo, hi int, f func(dst []D, x []R, y []S, z []T)) {
	s := dst.Shape()
	out, xs, ys, zs := newSink[D](dst), newSource[R](x, s), newSource[S](y, s), newSource[T](z, s)
	out.borrow(hi-lo, x, y, z)
	xs.borrow(hi - lo)
	ys.borrow(hi - lo)
	zs.borrow(hi - lo)
	for lo < hi {
		end := zs.rowEnd(lo, ys.rowEnd(lo, xs.rowEnd(lo, min(lo+blockSize, hi))))
		f(out.block(lo, end), xs.block(lo, end), ys.block(lo, end), zs.block(lo, end))
		out.store(lo, end)
		lo = end
	}
	out.release()
	xs.release()
	ys.release()
	zs.release()
}

// float1 runs the float kernel of row over x, as run1 does.
func float1(w *crew.Workers, dst, x *tensor.Tensor, row *kernel.Unary) {
	if computeOf(dst, x) == dtype.Float64 {
		run1(w, dst, x, row.F64)
	} else {
		run1(w, dst, x, row.F32)
	}
}

// float2 runs the float kernel of row over x and y, as run2 does.
func float2(w *crew.Workers, dst, x, y *tensor.Tensor, row *kernel.Binary) {
	if computeOf(dst, x, y) == dtype.Float64 {
		run2(w, dst, x, y, row.F64)
	} else {
		run2(w, dst, x, y, row.F32)
	}
}

// computeOf returns the dtype in which a computation on the tensors is done:
// Float64 if one is of that, else Float32.
func computeOf(list ...*tensor.Tensor) dtype.DType {
	for _, x := range list {
		if x.DType() == dtype.Float64 {
			return dtype.Float64
		}
	}
	return dtype.Float32
}

// direct returns the elements of x if they are of type T and lie in order. A
// bool's are bytes.
func direct[T dtype.Number](x *tensor.Tensor) ([]T, bool) {
	return tensor.InOrder[T](x)
}

// directLike is direct of an operand that need not be broadcast to the shape
// of dst.
func directLike[T dtype.Number](x, dst *tensor.Tensor) ([]T, bool) {
	if !x.Shape().Equal(dst.Shape()) {
		return nil, false
	}
	return direct[T](x)
}

// A source gives the elements of a tensor, broadcast to a shape, in row-major
// order and as values of T.
type source[T dtype.Number] struct {
	x      *tensor.Tensor
	direct []T    // all of them, if they lie so
	layout layout // where they lie otherwise
	row    int    // elements of a row that lies in order, one of several; 0 if rows do not
	buf    []T    // holds a block
	room   *room  // what buf is in, if it was borrowed
	filled bool   // x is a single element, repeated in all of buf
}

// newSource returns a source of x broadcast to s, which x fits.
func newSource[T dtype.Number](x *tensor.Tensor, s shape.Shape) source[T] {
	if x.Shape().Equal(s) {
		if d, ok := direct[T](x); ok {
			return source[T]{direct: d}
		}
	}
	src := source[T]{x: x, layout: broadcastLayout(x, s)}
	if k := len(src.layout.spans) - 1; k >= 1 && src.layout.spans[k].stride == 1 && tensor.HoldsType[T](x) {
		src.row = src.layout.spans[k].size
	}
	return src
}

// block returns elements lo to hi. They are valid until the next call, and the
// caller does not modify them.
func (s *source[T]) block(lo, hi int) []T {
	if s.direct != nil {
		return s.direct[lo:hi]
	}
	if s.row > 0 && lo/s.row == (hi-1)/s.row { // where they lie, as of a row that is broadcast
		off := s.layout.rowOffset(lo/s.row) + lo%s.row
		return tensor.Storage[T](s.x)[off : off+hi-lo]
	}
	if len(s.buf) < hi-lo {
		s.buf = make([]T, hi-lo)
		s.filled = false
	}
	if !s.filled {
		s.fill(lo, hi)
	}
	return s.buf[:hi-lo]
}

// leastRow is how many elements a row has at least that kernels are called for alone: to copy it to
// others takes longer than a call.
const leastRow = 256

// rowEnd returns where a block from lo to hi at most is to end: at the end of a row that is read where
// it lies.
func (s *source[T]) rowEnd(lo, hi int) int {
	if s.row < leastRow {
		return hi
	}
	return min(hi, lo-lo%s.row+s.row)
}

// fill loads elements lo to hi into buf, or all of buf at once if it is one
// element that is repeated.
func (s *source[T]) fill(lo, hi int) {
	if s.layout.constant() {
		load(s.buf, s.x, s.layout.offset, 0)
		s.filled = true
		return
	}
	loadRuns(s.buf, s.x, &s.layout, lo, hi)
}

// A sink takes the elements of a tensor in row-major order, as values of T.
type sink[T dtype.Number] struct {
	x      *tensor.Tensor
	direct []T    // the elements themselves, if they lie in order
	past   bool   // they are stored past the caches, a block at a time
	layout layout // where they lie otherwise
	buf    []T    // holds a block
	room   *room  // what buf is in, if it was borrowed
}

func newSink[T dtype.Number](x *tensor.Tensor) sink[T] {
	if d, ok := direct[T](x); ok {
		return sink[T]{x: x, direct: d}
	}
	return sink[T]{x: x, layout: broadcastLayout(x, x.Shape())}
}

// block returns room for elements lo to hi.
func (s *sink[T]) block(lo, hi int) []T {
	if s.direct != nil && !s.past {
		return s.direct[lo:hi]
	}
	if len(s.buf) < hi-lo {
		s.buf = make([]T, hi-lo)
	}
	return s.buf[:hi-lo]
}

// store puts what the caller left in block(lo, hi) where it belongs.
func (s *sink[T]) store(lo, hi int) {
	switch {
	case s.past:
		kernel.CopyPast(s.direct[lo:hi], s.buf[:hi-lo])
	case s.direct == nil:
		storeRuns(s.x, &s.layout, lo, hi, s.buf)
	}
}

// A room is memory for a block of any type.
type room [blockSize]uint64

// rooms wait here for the next call.
var rooms = sync.Pool{New: func() any { return new(room) }}

// borrow has s use, for blocks of n elements in all, a room that release gives
// back, in the place of new memory.
func (s *source[T]) borrow(n int) {
	if s.direct == nil && n > 0 {
		s.room, s.buf = blockIn[T](n)
	}
}

// release gives back what s has borrowed; its blocks are no longer valid.
func (s *source[T]) release() { giveBack(s.room) }

// borrow is the borrow of a source, for what is made of in: elements that are many and of none of
// these are stored past the caches.
func (s *sink[T]) borrow(n int, in ...*tensor.Tensor) {
	s.past = s.direct != nil && kernel.Past(n*s.x.DType().Size()) &&
		!slices.ContainsFunc(in, func(x *tensor.Tensor) bool { return x.Buffer() == s.x.Buffer() })
	if (s.direct == nil || s.past) && n > 0 {
		s.room, s.buf = blockIn[T](n)
	}
}

// release is the release of a source.
func (s *sink[T]) release() {
	if s.past {
		kernel.Settle()
	}
	giveBack(s.room)
}

// blockIn returns a room and in it a block of unspecified contents, of n
// elements or the most that a block has.
func blockIn[T dtype.Number](n int) (*room, []T) {
	r := rooms.Get().(*room)
	return r, unsafe.Slice((*T)(unsafe.Pointer(r)), min(n, blockSize))
}

// giveBack takes back a room; nil is none.
func giveBack(r *room) {
	if r != nil {
		rooms.Put(r)
	}
}

// load fills dst with the elements of x's buffer at off, off+stride, ...
func load[T dtype.Number](dst []T, x *tensor.Tensor, off, stride int) {
	l := layout{offset: off, spans: []span{{len(dst), stride}}}
	loadRuns(dst, x, &l, 0, len(dst))
}

// loadRuns stores elements lo to hi of x, which lie as l says, in dst.
func loadRuns[T dtype.Number](dst []T, x *tensor.Tensor, l *layout, lo, hi int) {
	if len(l.spans) > 1 && tensor.HoldsType[T](x) {
		l.grids(lo, hi, func(near, far kernel.Grid, rows, cols int) {
			near.Offset -= lo
			kernel.Copy(dst, near, tensor.Storage[T](x), far, rows, cols)
		})
		return
	}
	switch x.DType() {
	case dtype.Float32:
		gatherRuns(dst, tensor.Storage[float32](x), l, lo, hi, kernel.Gather[T, float32])
	case dtype.Float64:
		gatherRuns(dst, tensor.Storage[float64](x), l, lo, hi, kernel.Gather[T, float64])
	case dtype.Float16:
		gatherRuns(dst, tensor.Storage[dtype.F16](x), l, lo, hi, kernel.GatherF16[T])
	case dtype.BFloat16:
		gatherRuns(dst, tensor.Storage[dtype.BF16](x), l, lo, hi, kernel.GatherBF16[T])
	case dtype.Int64:
		gatherRuns(dst, tensor.Storage[int64](x), l, lo, hi, kernel.Gather[T, int64])
	case dtype.Int32:
		gatherRuns(dst, tensor.Storage[int32](x), l, lo, hi, kernel.Gather[T, int32])
	case dtype.Int16:
		gatherRuns(dst, tensor.Storage[int16](x), l, lo, hi, kernel.Gather[T, int16])
	case dtype.Int8:
		gatherRuns(dst, tensor.Storage[int8](x), l, lo, hi, kernel.Gather[T, int8])
	case dtype.Uint16:
		gatherRuns(dst, tensor.Storage[uint16](x), l, lo, hi, kernel.Gather[T, uint16])
	case dtype.Uint32:
		gatherRuns(dst, tensor.Storage[uint32](x), l, lo, hi, kernel.Gather[T, uint32])
	case dtype.Uint64:
		gatherRuns(dst, tensor.Storage[uint64](x), l, lo, hi, kernel.Gather[T, uint64])
	case dtype.Float8E4M3FN:
		gatherRuns(dst, tensor.Storage[dtype.F8E4M3](x), l, lo, hi, kernel.GatherF8[T, dtype.F8E4M3])
	case dtype.Float8E5M2:
		gatherRuns(dst, tensor.Storage[dtype.F8E5M2](x), l, lo, hi, kernel.GatherF8[T, dtype.F8E5M2])
	default: // uint8, and bools as bytes
		gatherRuns(dst, tensor.Storage[uint8](x), l, lo, hi, kernel.Gather[T, uint8])
	}
}

func gatherRuns[D, S any](dst []D, src []S, l *layout, lo, hi int, gather func(dst []D, src []S, stride int)) {
	l.runs(lo, hi, func(at, off, stride, n int) {
		gather(dst[at-lo:at-lo+n], src[off:], stride)
	})
}

// storeRuns stores src in elements lo to hi of x, which lie as l says. For a
// bool tensor src holds zeros and ones.
func storeRuns[T dtype.Number](x *tensor.Tensor, l *layout, lo, hi int, src []T) {
	if len(l.spans) > 1 && tensor.HoldsType[T](x) {
		l.grids(lo, hi, func(near, far kernel.Grid, rows, cols int) {
			near.Offset -= lo
			kernel.Copy(tensor.Storage[T](x), far, src, near, rows, cols)
		})
		return
	}
	switch x.DType() {
	case dtype.Float32:
		scatterRuns(tensor.Storage[float32](x), l, lo, hi, src, kernel.Scatter[float32, T])
	case dtype.Float64:
		scatterRuns(tensor.Storage[float64](x), l, lo, hi, src, kernel.Scatter[float64, T])
	case dtype.Float16:
		scatterRuns(tensor.Storage[dtype.F16](x), l, lo, hi, src, kernel.ScatterF16[T])
	case dtype.BFloat16:
		scatterRuns(tensor.Storage[dtype.BF16](x), l, lo, hi, src, kernel.ScatterBF16[T])
	case dtype.Int64:
		scatterRuns(tensor.Storage[int64](x), l, lo, hi, src, kernel.Scatter[int64, T])
	case dtype.Int32:
		scatterRuns(tensor.Storage[int32](x), l, lo, hi, src, kernel.Scatter[int32, T])
	case dtype.Int16:
		scatterRuns(tensor.Storage[int16](x), l, lo, hi, src, kernel.Scatter[int16, T])
	case dtype.Int8:
		scatterRuns(tensor.Storage[int8](x), l, lo, hi, src, kernel.Scatter[int8, T])
	case dtype.Uint16:
		scatterRuns(tensor.Storage[uint16](x), l, lo, hi, src, kernel.Scatter[uint16, T])
	case dtype.Uint32:
		scatterRuns(tensor.Storage[uint32](x), l, lo, hi, src, kernel.Scatter[uint32, T])
	case dtype.Uint64:
		scatterRuns(tensor.Storage[uint64](x), l, lo, hi, src, kernel.Scatter[uint64, T])
	case dtype.Float8E4M3FN:
		scatterRuns(tensor.Storage[dtype.F8E4M3](x), l, lo, hi, src, func(dst []dtype.F8E4M3, stride int, src []T) {
			kernel.ScatterF8(dst, stride, src, dtype.ToF8E4M3)
		})
	case dtype.Float8E5M2:
		scatterRuns(tensor.Storage[dtype.F8E5M2](x), l, lo, hi, src, func(dst []dtype.F8E5M2, stride int, src []T) {
			kernel.ScatterF8(dst, stride, src, dtype.ToF8E5M2)
		})
	default: // uint8, and bools as bytes
		scatterRuns(tensor.Storage[uint8](x), l, lo, hi, src, kernel.Scatter[uint8, T])
	}
}

func scatterRuns[D, S any](dst []D, l *layout, lo, hi int, src []S, scatter func(dst []D, stride int, src []S)) {
	l.runs(lo, hi, func(at, off, stride, n int) {
		scatter(dst[off:], stride, src[at-lo:at-lo+n])
	})
}

// onOrdered calls that of the functions which is for elements of dt: float32, float64,
// int32, int64 or uint8, in which others are calculated.
func onOrdered(dt dtype.DType, f32, f64, i32, i64, u8 func()) {
	switch dt.Compute() {
	case dtype.Float32:
		f32()
	case dtype.Float64:
		f64()
	case dtype.Int32:
		i32()
	case dtype.Int64:
		i64()
	default:
		u8()
	}
}
