package kernel

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// A CombineFold does what a Combine does, one stretch of sources after the other: for any division
// of the sources into stretches it ends with the bits of the Combine.
type CombineFold struct {
	// Bytes is how many bytes stand for an element between stretches.
	Bytes int
	// Add reduces srcs, in their order, onto what acc stands for, or on their own if acc is
	// nil. dst may be acc.
	Add func(dst, acc []byte, srcs [][]byte)
	// End does that for the last stretch, of n sources in all, and leaves elements in dst.
	End func(dst, acc []byte, srcs [][]byte, n int)
}

// Folder returns the CombineFold of the Combine that Combiner returns, or nil if there is none.
func Folder(dt dtype.DType, op string) *CombineFold { return reductionsOf(dt).folders[op] }

// Reducer returns the Combine of an operation between ranks, nil if dt has none, and the CombineFold that
// belongs to it, nil if there is none. With exact they are those of a sum or mean that does not depend on
// the order of the sources, where there is one (see ExactCombiner).
func Reducer(dt dtype.DType, op string, exact bool) (Combine, *CombineFold) {
	if exact {
		if c := ExactCombiner(dt, op); c != nil {
			return c, nil
		}
	}
	return Combiner(dt, op), Folder(dt, op)
}

// newFold returns the CombineFold of f, the Combine of an operation on a dtype.
func newFold(dt dtype.DType, op string, f Combine) *CombineFold {
	switch dt {
	case dtype.Float32:
		return foldFloats[float32](op)
	case dtype.Float64:
		return foldFloats[float64](op)
	case dtype.Float16:
		return foldHalves(op, vec.WidenF16, vec.NarrowF16)
	case dtype.BFloat16:
		return foldHalves(op, vec.WidenBF16, vec.NarrowBF16)
	case dtype.Complex64, dtype.Complex128: // by parts, twice as many
		parts := *newFold(dt.Real(), op, f)
		parts.Bytes *= 2
		return &parts
	}
	return foldAlone(f, dt.Size())
}

// foldAlone returns the CombineFold of a Combine that goes on from a result as from a source.
func foldAlone(f Combine, bytes int) *CombineFold {
	add := func(dst, acc []byte, srcs [][]byte) {
		if acc != nil {
			srcs = append([][]byte{acc}, srcs...)
		}
		f(dst, srcs)
	}
	return &CombineFold{bytes, add, func(dst, acc []byte, srcs [][]byte, _ int) { add(dst, acc, srcs) }}
}

// foldFloats is foldAlone, but for the mean, which is divided in the end.
func foldFloats[T dtype.Float](op string) *CombineFold {
	if op != "mean" {
		return foldAlone(numbers[T](op), len(bytesOf(make([]T, 1))))
	}
	f := foldFloats[T]("sum")
	add := f.Add
	f.End = func(dst, acc []byte, srcs [][]byte, n int) {
		add(dst, acc, srcs)
		scale(view[T](dst), T(n))
	}
	return f
}

// foldHalves folds a storage type in float32, and rounds once.
func foldHalves[H dtype.F16 | dtype.BF16](op string, widen func(dst []float32, x []H), narrow func(dst []H, x []float32)) *CombineFold {
	f := foldFloats[float32](op)
	const block = 512
	// each calls do with every block of acc and of srcs, these widened.
	each := func(elements int, acc []byte, srcs [][]byte, do func(lo, hi int, acc []byte, parts [][]byte)) {
		in := make([]float32, block*len(srcs))
		parts := make([][]byte, len(srcs))
		for lo := 0; lo < elements; lo += block {
			hi := min(elements, lo+block)
			for i, s := range srcs {
				part := in[i*block : i*block+hi-lo]
				widen(part, view[H](s)[lo:hi])
				parts[i] = bytesOf(part)
			}
			var onto []byte
			if acc != nil {
				onto = acc[4*lo : 4*hi]
			}
			do(lo, hi, onto, parts)
		}
	}
	return &CombineFold{
		Bytes: 4,
		Add: func(dst, acc []byte, srcs [][]byte) {
			each(len(dst)/4, acc, srcs, func(lo, hi int, acc []byte, parts [][]byte) { f.Add(dst[4*lo:4*hi], acc, parts) })
		},
		End: func(dst, acc []byte, srcs [][]byte, n int) {
			out := view[H](dst)
			var sum [block]float32
			each(len(out), acc, srcs, func(lo, hi int, acc []byte, parts [][]byte) {
				f.End(bytesOf(sum[:hi-lo]), acc, parts, n)
				narrow(out[lo:hi], sum[:hi-lo])
			})
		},
	}
}
