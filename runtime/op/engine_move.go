package op

import (
	goruntime "runtime"

	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A strided says where elements lie in a buffer: the first at offset, the others
// by a stride for each dim. Unlike a tensor's, the strides may be negative.
type strided struct {
	offset  int
	strides []int
}

// stridedOf returns where the elements of x lie.
func stridedOf(x *tensor.Tensor) strided { return strided{x.Offset(), x.Strides()} }

// narrow returns where they lie from index start on in dim d.
func (p strided) narrow(d, start int) strided {
	return strided{p.offset + start*p.strides[d], p.strides}
}

// broadcast returns where elements of shape xs lie that are broadcast to s.
func (p strided) broadcast(xs, s shape.Shape) strided {
	b := strided{p.offset, make([]int, len(s))}
	lead := len(s) - len(xs)
	for d, size := range xs {
		if size != 1 {
			b.strides[lead+d] = p.strides[d]
		}
	}
	return b
}

// copySame stores the elements of x, of the dtype of dst and broadcast to its
// shape, in those of dst. They do not overlap.
func copySame(dst, x *tensor.Tensor) {
	from := stridedOf(x)
	if !x.Shape().Equal(dst.Shape()) {
		from = from.broadcast(x.Shape(), dst.Shape())
	} else if x.Contiguous() && dst.Contiguous() {
		copy(dst.Bytes(), x.Bytes())
		goruntime.KeepAlive(dst)
		goruntime.KeepAlive(x)
		return
	}
	moveElements(dst, stridedOf(dst), x, from, dst.Shape())
}

// moveElements stores the elements of x's buffer at from in dst's buffer at
// to; there are as many as a tensor of shape s has. The tensors are of one
// dtype, and the elements do not overlap.
func moveElements(dst *tensor.Tensor, to strided, x *tensor.Tensor, from strided, s shape.Shape) {
	if dst.Hollow() {
		return
	}
	switch dst.DType().Size() {
	case 1:
		moveBytes[uint8](dst, to, x, from, s)
	case 2:
		moveBytes[uint16](dst, to, x, from, s)
	case 4:
		moveBytes[uint32](dst, to, x, from, s)
	case 8:
		moveBytes[uint64](dst, to, x, from, s)
	default:
		moveBytes[complex128](dst, to, x, from, s)
	}
	goruntime.KeepAlive(dst)
	goruntime.KeepAlive(x)
}

// moveBytes is moveElements of elements of the size of T, whatever they mean.
func moveBytes[T any](dst *tensor.Tensor, to strided, x *tensor.Tensor, from strided, s shape.Shape) {
	moveAll(tensor.SizedStorage[T](dst), to, tensor.SizedStorage[T](x), from, s)
}

// moveAll is moveElements on slices.
func moveAll[T any](dst []T, to strided, src []T, from strided, s shape.Shape) {
	if s.Numel() == 0 {
		return
	}
	sizes, ds, ss := mergeDims(s, to.strides, from.strides)
	outer := len(sizes) - 2
	rows, cols := sizes[outer], sizes[outer+1]
	d := kernel.Grid{Offset: to.offset, Row: ds[outer], Col: ds[outer+1]}
	g := kernel.Grid{Offset: from.offset, Row: ss[outer], Col: ss[outer+1]}
	index := make([]int, outer)
	for {
		kernel.Copy(dst, d, src, g, rows, cols)
		i := outer - 1
		for ; i >= 0; i-- {
			d.Offset, g.Offset = d.Offset+ds[i], g.Offset+ss[i]
			if index[i]++; index[i] < sizes[i] {
				break
			}
			d.Offset, g.Offset = d.Offset-sizes[i]*ds[i], g.Offset-sizes[i]*ss[i]
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// mergeDims returns s and the strides a and b of two operands without dims of
// size 1, and with neighbouring dims that are one for both operands merged. It
// puts dims of size 1 in front, so that there are at least two.
func mergeDims(s shape.Shape, a, b []int) (sizes, sa, sb []int) {
	n := len(s) + 2
	room := make([]int, 3*n)
	sizes, sa, sb = room[:2:n], room[n:n+2:2*n], room[2*n:n*2+2:3*n]
	sizes[0], sizes[1] = 1, 1
	for d, size := range s {
		k := len(sizes) - 1
		switch {
		case size == 1:
		case k >= 2 && sa[k] == a[d]*size && sb[k] == b[d]*size:
			sizes[k], sa[k], sb[k] = sizes[k]*size, a[d], b[d]
		default:
			sizes, sa, sb = append(sizes, size), append(sa, a[d]), append(sb, b[d])
		}
	}
	k := min(len(sizes)-2, 2) // how many of the dims in front are not needed
	return sizes[k:], sa[k:], sb[k:]
}
