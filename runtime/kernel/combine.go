package kernel

import (
	"unsafe"

	"tpsh/runtime/dtype"
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
// "min") on elements of dt, or nil if dt does not have it: only floats have a
// mean, and bools have neither sum nor mean. Storage types are accumulated in
// float32 and rounded once. In max and min a NaN wins.
func Combiner(dt dtype.DType, op string) Combine { return combiners[dt][op] }

// combiners holds what Combiner returns.
var combiners = func() (table [dtype.Count]map[string]Combine) {
	for _, dt := range dtype.All {
		table[dt] = map[string]Combine{}
		for _, op := range []string{"sum", "mean", "prod", "max", "min"} {
			if f := newCombine(dt, op); f != nil {
				table[dt][op] = f
			}
		}
	}
	return table
}()

func newCombine(dt dtype.DType, op string) Combine {
	switch dt {
	case dtype.Float32:
		return floats[float32](op)
	case dtype.Float64:
		return floats[float64](op)
	case dtype.Float16:
		return halves(op, dtype.F16.Float32, dtype.ToF16)
	case dtype.BFloat16:
		return halves(op, dtype.BF16.Float32, dtype.ToBF16)
	case dtype.Int64:
		return ints[int64](op)
	case dtype.Int32:
		return ints[int32](op)
	case dtype.Uint8:
		return ints[uint8](op)
	}
	if op == "sum" {
		return nil
	}
	return ints[uint8](op)
}

func floats[T dtype.Float](op string) Combine {
	if op == "mean" {
		return func(dst []byte, srcs [][]byte) {
			combine(dst, srcs, addInto[T], addTo[T])
			scale(view[T](dst), T(len(srcs)))
		}
	}
	return numbers[T](op)
}

func ints[T dtype.Integer](op string) Combine { return numbers[T](op) }

func numbers[T dtype.Number](op string) Combine {
	var into func(dst, x []T)
	var to func(dst, x, y []T)
	switch op {
	case "sum":
		into, to = addInto[T], addTo[T]
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

// combine runs to on the first two sources and into on every further one.
func combine[T dtype.Number](dst []byte, srcs [][]byte, into func(dst, x []T), to func(dst, x, y []T)) {
	d := view[T](dst)
	if len(srcs) == 1 {
		copy(d, view[T](srcs[0]))
		return
	}
	to(d, view[T](srcs[0]), view[T](srcs[1]))
	for _, s := range srcs[2:] {
		into(d, view[T](s))
	}
}

// halves reduces a storage type by way of float32, a block at a time.
func halves[H dtype.F16 | dtype.BF16](op string, wide func(H) float32, narrow func(float32) H) Combine {
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
				for j, h := range view[H](s)[lo : lo+n] {
					part[j] = wide(h)
				}
				parts[i] = bytesOf(part)
			}
			f(bytesOf(sum[:n]), parts)
			for j, v := range sum[:n] {
				out[lo+j] = narrow(v)
			}
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

func addTo[T dtype.Number](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		d, a, b := dst[i:i+8:i+8], x[i:i+8:i+8], y[i:i+8:i+8]
		d[0] = a[0] + b[0]
		d[1] = a[1] + b[1]
		d[2] = a[2] + b[2]
		d[3] = a[3] + b[3]
		d[4] = a[4] + b[4]
		d[5] = a[5] + b[5]
		d[6] = a[6] + b[6]
		d[7] = a[7] + b[7]
	}
	for ; i < len(dst); i++ {
		dst[i] = x[i] + y[i]
	}
}

func addInto[T dtype.Number](dst, x []T) { addTo(dst, dst, x) }

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
