package kernel

import (
	"sync"
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// A Combine reduces sources of equal length into dst, which overlaps none of
// them, in the order of srcs:
//
//	for i := range dst {
//		dst[i] = f(f(f(srcs[0][i], srcs[1][i]), srcs[2][i]), ...)
//	}
//
// Slices hold elements in the machine's byte order. It panics if there is no
// source.
type Combine func(dst []byte, srcs [][]byte)

// Combiner returns the Combine of reduction op ("sum", "mean", "prod", "max",
// "min", and of bits "band", "bor", "bxor") on elements of dt, or nil if dt does not
// have it: only floats have a mean, only integers and bools bits, bools have neither
// sum nor mean, complex numbers these two alone, and floats of 8 bits nothing. Halves
// are accumulated in float32 and rounded once. In max and min a NaN wins.
func Combiner(dt dtype.DType, op string) Combine { return reductionsOf(dt).combiners[op] }

// reductions holds what Combiner and Folder return for one dtype. It is made when it is first asked for.
type reductions struct {
	once      sync.Once
	combiners map[string]Combine
	folders   map[string]*CombineFold
}

var reductionTable [dtype.Count]reductions

func reductionsOf(dt dtype.DType) *reductions {
	r := &reductionTable[dt]
	r.once.Do(func() {
		r.combiners, r.folders = map[string]Combine{}, map[string]*CombineFold{}
		for _, op := range []string{"sum", "mean", "prod", "max", "min", "band", "bor", "bxor"} {
			if f := newCombine(dt, op); f != nil {
				r.combiners[op], r.folders[op] = f, newFold(dt, op, f)
			}
		}
	})
	return r
}

func newCombine(dt dtype.DType, op string) Combine {
	switch dt {
	case dtype.Float32:
		return floats[float32](op)
	case dtype.Float64:
		return floats[float64](op)
	case dtype.Float16:
		return halves(op, vec.WidenF16, vec.NarrowF16)
	case dtype.BFloat16:
		return halves(op, vec.WidenBF16, vec.NarrowBF16)
	case dtype.Int64:
		return ints[int64](op)
	case dtype.Int32:
		return ints[int32](op)
	case dtype.Uint8:
		return ints[uint8](op)
	case dtype.Int16:
		return ints[int16](op)
	case dtype.Int8:
		return ints[int8](op)
	case dtype.Uint16:
		return ints[uint16](op)
	case dtype.Uint32:
		return ints[uint32](op)
	case dtype.Uint64:
		return ints[uint64](op)
	case dtype.Float8E4M3FN, dtype.Float8E5M2:
		return nil
	case dtype.Complex64, dtype.Complex128: // by parts, where that is all there is to it
		if op == "sum" || op == "mean" {
			return newCombine(dt.Real(), op)
		}
		return nil
	}
	if op == "sum" {
		return nil
	}
	return ints[uint8](op)
}

func floats[T dtype.Float](op string) Combine {
	if op == "mean" {
		return func(dst []byte, srcs [][]byte) {
			numbers[T]("sum")(dst, srcs)
			scale(view[T](dst), T(len(srcs)))
		}
	}
	return numbers[T](op)
}

func ints[T dtype.Integer](op string) Combine {
	var to func(dst, x, y []T)
	switch op {
	case "band":
		to = AndTo[T]
	case "bor":
		to = OrTo[T]
	case "bxor":
		to = XorTo[T]
	default:
		return numbers[T](op)
	}
	into := func(dst, x []T) { to(dst, dst, x) }
	return func(dst []byte, srcs [][]byte) { combine(dst, srcs, into, to) }
}

func numbers[T dtype.Number](op string) Combine {
	var into func(dst, x []T)
	var to func(dst, x, y []T)
	switch op {
	case "sum":
		to = sumOf[T]()
		into = func(dst, x []T) { to(dst, dst, x) }
	case "prod":
		into, to = mulInto[T], mulTo[T]
	case "max":
		into, to = maxInto[T], maxTo[T]
	case "min":
		into, to = minInto[T], minTo[T]
	default:
		return nil
	}
	return func(dst []byte, srcs [][]byte) { combine(dst, srcs, into, to) }
}

// sumOf returns the kernel that adds.
func sumOf[T dtype.Number]() func(dst, x, y []T) {
	switch to := any(AddTo[T]).(type) {
	case func(dst, x, y []float32):
		return any(vec.Add).(func(dst, x, y []T))
	case func(dst, x, y []float64):
		return any(vec.Add64).(func(dst, x, y []T))
	default:
		return to.(func(dst, x, y []T))
	}
}

// productOf returns the kernel that multiplies.
func productOf[T dtype.Number]() func(dst, x, y []T) {
	switch to := any(MulTo[T]).(type) {
	case func(dst, x, y []float32):
		return any(vec.Mul).(func(dst, x, y []T))
	case func(dst, x, y []float64):
		return any(vec.Mul64).(func(dst, x, y []T))
	default:
		return to.(func(dst, x, y []T))
	}
}

// combineStep is how many elements are reduced at a time: of a few sources
// they stay in the first-level cache, so that all are read once and dst is
// written once.
const combineStep = 1024

// combine runs to on the first two sources and into on every further one.
func combine[T dtype.Number](dst []byte, srcs [][]byte, into func(dst, x []T), to func(dst, x, y []T)) {
	d := view[T](dst)
	if len(srcs) == 1 {
		copy(d, view[T](srcs[0]))
		return
	}
	if len(srcs) == 2 {
		to(d, view[T](srcs[0]), view[T](srcs[1]))
		return
	}
	for lo := 0; lo < len(d); lo += combineStep {
		hi := min(lo+combineStep, len(d))
		part := d[lo:hi]
		to(part, view[T](srcs[0])[lo:hi], view[T](srcs[1])[lo:hi])
		for _, s := range srcs[2:] {
			into(part, view[T](s)[lo:hi])
		}
	}
}

// halves reduces a storage type by way of float32, a block at a time.
func halves[H dtype.F16 | dtype.BF16](op string, widen func(dst []float32, x []H), narrow func(dst []H, x []float32)) Combine {
	f := floats[float32](op)
	if f == nil {
		return nil
	}
	const block = 512
	return func(dst []byte, srcs [][]byte) {
		out := view[H](dst)
		var sum [block]float32
		in := make([]float32, block*len(srcs))
		parts := make([][]byte, len(srcs))
		for lo := 0; lo < len(out); lo += block {
			n := min(block, len(out)-lo)
			for i, s := range srcs {
				part := in[i*block : i*block+n]
				widen(part, view[H](s)[lo:lo+n])
				parts[i] = bytesOf(part)
			}
			f(bytesOf(sum[:n]), parts)
			narrow(out[lo:lo+n], sum[:n])
		}
	}
}

// view returns b as elements of T.
func view[T any](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(*new(T))))
}

// bytesOf returns x as bytes.
func bytesOf[T any](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

func mulTo[T dtype.Number](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] * y[i]
	}
}

func mulInto[T dtype.Number](dst, x []T) { mulTo(dst, dst, x) }

func maxTo[T dtype.Number](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = max(x[i], y[i])
	}
}

func maxInto[T dtype.Number](dst, x []T) { maxTo(dst, dst, x) }

func minTo[T dtype.Number](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = min(x[i], y[i])
	}
}

func minInto[T dtype.Number](dst, x []T) { minTo(dst, dst, x) }

func scale[T dtype.Float](dst []T, n T) {
	for i := range dst {
		dst[i] /= n
	}
}
