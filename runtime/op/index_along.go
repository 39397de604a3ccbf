package op

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Elements at which an index tensor points along one dim, row by row of the index.

// alongRows is an index tensor beside the tensor of which it indexes dim d: the elements of
// the index in order, and of both tensors the dims that are walked, the last being a row.
type alongRows struct {
	index []int64
	keep  *tensor.Tensor // whose elements index may be: it stays reachable while they are walked
	dims  []span         // how many of the index, and how far apart in the other tensor
	row   kernel.Along
	first int // where the other tensor begins
}

// alongOf returns how to walk index beside a tensor of shape s, whose elements lie as at
// says. Dims of the index of size 1 are left out, and dims that are one for both merged.
func alongOf(index *tensor.Tensor, d int, s shape.Shape, at strided) alongRows {
	w := alongRows{keep: index, first: at.offset, row: kernel.Along{N: s[d], Stride: at.strides[d]}}
	w.index = integers(index)
	indexed := -1 // the place of d in w.dims
	for e, n := range index.Shape() {
		k := len(w.dims) - 1
		switch stride := at.strides[e]; {
		case n == 1:
		case e == d:
			indexed, w.dims = k+1, append(w.dims, span{n, 0})
		case k >= 0 && k != indexed && w.dims[k].stride == stride*n:
			w.dims[k] = span{w.dims[k].size * n, stride}
		default:
			w.dims = append(w.dims, span{n, stride})
		}
	}
	if len(w.dims) == 0 {
		w.dims = []span{{1, 0}}
	}
	w.row.Step = w.dims[len(w.dims)-1].stride
	return w
}

// integers returns the elements of an index tensor in row-major order, which are its own
// if they lie so: the caller keeps it reachable and does not modify them.
func integers(index *tensor.Tensor) []int64 {
	mustHaveElements(index)
	if own, ok := tensor.InOrder[int64](index); ok {
		return own
	}
	return Int64s(index)
}

// each calls f for the rows of the index: each begins at element from of the index and at
// element at of the other tensor's buffer. f returns -1, or which of the row is out of
// range, and each then which of all, in row-major order.
func (w *alongRows) each(f func(row []int64, from, at int) int) int {
	outer := len(w.dims) - 1
	n := w.dims[outer].size
	at, place := w.first, make([]int, outer)
	for from := 0; from < len(w.index); from += n {
		if bad := f(w.index[from:from+n], from, at); bad >= 0 {
			return from + bad
		}
		for i := outer - 1; i >= 0; i-- {
			at += w.dims[i].stride
			if place[i]++; place[i] < w.dims[i].size {
				break
			}
			at -= w.dims[i].size * w.dims[i].stride
			place[i] = 0
		}
	}
	goruntime.KeepAlive(w.keep)
	return -1
}

// checkAt returns an error about element bad of index, in row-major order, which is no
// index of dim d of a tensor of shape s; nil if bad is -1.
func (c *Call) checkAt(param string, index *tensor.Tensor, bad, d int, s shape.Shape) error {
	if bad < 0 {
		return nil
	}
	want, rule := fmt.Sprintf("%d..%d", -s[d], s[d]-1), fmt.Sprintf("dim %d of shape %v", d, s)
	if s[d] == 0 {
		want = "no index"
	}
	err := c.badElement(param, index, bad, Int64At(index, bad), want, rule)
	err.Element.Position = true
	return err
}

// eachSized calls that of the functions which is for elements of the size of x's.
func eachSized(x *tensor.Tensor, one, two, four, eight, sixteen func()) {
	switch x.DType().Size() {
	case 1:
		one()
	case 2:
		two()
	case 4:
		four()
	case 8:
		eight()
	default:
		sixteen()
	}
}

// takeAlong fills dst, contiguous and of the shape of index, with the elements of x at
// which index points along dim d.
func (c *Call) takeAlong(dst, x, index *tensor.Tensor, d int) (err error) {
	if at, ok := slicesAlong(index, d, x.Shape()); ok {
		if list, err := c.indices("index", at, 0, x.Shape()[d:d+1]); err == nil {
			return alongDim(x.Shape(), d, list).take(c, dst, x)
		}
	}
	w := alongOf(index, d, x.Shape(), stridedOf(x))
	bad := -1
	eachSized(x, func() { bad = takeRows[uint8](&w, dst, x) }, func() { bad = takeRows[uint16](&w, dst, x) },
		func() { bad = takeRows[uint32](&w, dst, x) }, func() { bad = takeRows[uint64](&w, dst, x) }, func() { bad = takeRows[complex128](&w, dst, x) })
	return c.checkAt("index", index, bad, d, x.Shape())
}

func takeRows[T any](w *alongRows, dst, x *tensor.Tensor) int {
	to, src := tensor.SizedStorage[T](dst)[dst.Offset():], tensor.SizedStorage[T](x)
	return w.each(func(row []int64, from, at int) int {
		return kernel.TakeAlong(to[from:], src[min(at, len(src)):], row, w.row)
	})
}

// putAlong stores the elements of src, contiguous and of the shape of index, in those of
// dst, contiguous, at which index points along dim d; of equal places the last wins.
func (c *Call) putAlong(dst, src, index *tensor.Tensor, d int) error {
	w := alongOf(index, d, dst.Shape(), stridedOf(dst))
	bad := -1
	eachSized(dst, func() { bad = putRows[uint8](&w, dst, src) }, func() { bad = putRows[uint16](&w, dst, src) },
		func() { bad = putRows[uint32](&w, dst, src) }, func() { bad = putRows[uint64](&w, dst, src) }, func() { bad = putRows[complex128](&w, dst, src) })
	return c.checkAt("index", index, bad, d, dst.Shape())
}

func putRows[T any](w *alongRows, dst, x *tensor.Tensor) int {
	to, src := tensor.SizedStorage[T](dst), tensor.SizedStorage[T](x)[x.Offset():]
	return w.each(func(row []int64, from, at int) int {
		return kernel.PutAlong(to[min(at, len(to)):], src[from:], row, w.row)
	})
}

// addAlong adds the elements of src, contiguous and of the shape of index, to those of dst,
// contiguous and of its dtype, at which index points along dim d.
func (c *Call) addAlong(dst, src, index *tensor.Tensor, d int) error {
	if at, ok := slicesAlong(index, d, dst.Shape()); ok {
		if list, err := c.indices("index", at, 0, dst.Shape()[d:d+1]); err == nil {
			alongDim(dst.Shape(), d, list).add(dst, src)
			return nil
		}
	}
	w := alongOf(index, d, dst.Shape(), stridedOf(dst))
	bad := -1
	onOrdered(dst.DType(), func() { bad = addAlongRows[float32](&w, dst, src) }, func() { bad = addAlongRows[float64](&w, dst, src) },
		func() { bad = addAlongRows[int32](&w, dst, src) }, func() { bad = addAlongRows[int64](&w, dst, src) },
		func() { bad = addAlongRows[uint8](&w, dst, src) })
	return c.checkAt("index", index, bad, d, dst.Shape())
}

func addAlongRows[T interface {
	dtype.Number
	tensor.Element
}](w *alongRows, dst, x *tensor.Tensor) int {
	to, src := tensor.Storage[T](dst), tensor.Data[T](x)
	return w.each(func(row []int64, from, at int) int {
		return kernel.AddAlong(to[min(at, len(to)):], src[from:], row, w.row)
	})
}

// slicesAlong returns the indices [n] of dim d of a tensor of shape s if index says the
// same of all elements of a slice, being broadcast along all other dims, and has all of
// them.
func slicesAlong(index *tensor.Tensor, d int, s shape.Shape) (*tensor.Tensor, bool) {
	is, strides, wide := index.Shape(), index.Strides(), false
	for e, n := range is {
		if e != d && (n != s[e] || n > 1 && strides[e] != 0) {
			return nil, false
		}
		wide = wide || e != d && n > 1
	}
	if !wide || index.Numel() == 0 {
		return nil, false
	}
	return index.View(slices.Clone(is[d:d+1]), slices.Clone(strides[d:d+1]), index.Offset()), true
}

// placesAlong returns where in a contiguous tensor of shape s the elements are at which
// index points along dim d.
func (c *Call) placesAlong(index *tensor.Tensor, d int, s shape.Shape) ([]int, error) {
	w := alongOf(index, d, s, strided{0, s.Strides()})
	places := make([]int, index.Numel())
	bad := w.each(func(row []int64, from, at int) int {
		return kernel.PlacesAlong(places[from:], row, at, w.row)
	})
	return places, c.checkAt("index", index, bad, d, s)
}
