package op

import (
	goruntime "runtime"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A fold is the way in which the elements of a tensor are reduced over some of
// its dims: in rows, the reduced dims last, or in columns, some of the other
// dims last. Which is quicker depends on the strides; the result does not, see
// package kernel.
type fold struct {
	order []int // the tensor's dims as they are walked
	outer int   // tables
	k     int   // elements that make one: the rows of a table of columns
	inner int   // columns of a table; 0 if the elements are reduced in rows
}

// foldOf returns the way to reduce x over the dims that are true in reduced.
func foldOf(x *tensor.Tensor, reduced []bool) fold {
	s, st := x.Shape(), x.Strides()
	f := fold{outer: 1, k: 1}
	var kept, gone []int
	for d, r := range reduced {
		if r {
			gone = append(gone, d)
			f.k *= s[d]
		} else {
			kept = append(kept, d)
			f.outer *= s[d]
		}
	}
	// The last kept dims that are walked in one stride become columns if that
	// is shorter than the stride of the reduced.
	tail := len(kept)
	for i := len(kept) - 1; i >= 0; i-- {
		d := kept[i]
		if i < len(kept)-1 && st[d] != st[kept[i+1]]*s[kept[i+1]] {
			break
		}
		tail = i
	}
	if f.k > 0 && len(gone) > 0 && tail < len(kept) && columnsAreShorter(st[kept[len(kept)-1]], st[gone[len(gone)-1]]) {
		f.inner = 1
		for _, d := range kept[tail:] {
			f.inner *= s[d]
		}
	}
	if f.inner <= 1 {
		f.inner = 0
		f.order = append(kept, gone...)
		return f
	}
	f.outer /= f.inner
	f.order = append(append(append([]int(nil), kept[:tail]...), gone...), kept[tail:]...)
	return f
}

// columnsAreShorter reports whether columns are walked in shorter strides than rows, given the
// strides of the last dim that is kept and of the last that is reduced. One that repeats an
// element makes rows of it.
func columnsAreShorter(kept, gone int) bool { return gone == 0 && kept != 0 || kept < gone }

// view returns x with its dims in the order in which f walks them.
func (f *fold) view(x *tensor.Tensor) *tensor.Tensor {
	if slices.IsSorted(f.order) {
		return x
	}
	s, st := make(shape.Shape, len(f.order)), make([]int, len(f.order))
	for i, d := range f.order {
		s[i], st[i] = x.Shape()[d], x.Strides()[d]
	}
	return x.View(s, st, x.Offset())
}

// reduceTo stores in dst the elements of x reduced by r over the dims that are
// true in reduced. finish is called with results that are ready, the first
// being element lo of dst, and may change them; nil does nothing.
func reduceTo[T dtype.Number](dst, x *tensor.Tensor, reduced []bool, r *kernel.Reduction[T], finish func(lo int, d []T)) {
	f := foldOf(x, reduced)
	v := f.view(x)
	src := newSource[T](v, v.Shape())
	switch {
	case src.direct == nil && src.layout.constant() && dst.Numel() > 1:
		reduceConstant(dst, f.k, r, src.block, finish)
	case src.direct != nil && f.inner == 0:
		out := newSink[T](dst)
		eachRows(&out, f.outer, blockSize, finished(&out, finish), func(lo int, d []T) { r.Rows(d, src.direct[lo*f.k:], f.k) })
	default:
		reduceBlocks(dst, &f, r, src.block, finish)
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(dst)
}

// reduceConstant is reduceBlocks of k elements to each result that are all one, as those of a number's
// gradient are: one result is all.
func reduceConstant[T dtype.Number](dst *tensor.Tensor, k int, r *kernel.Reduction[T], load func(lo, hi int) []T, finish func(lo int, d []T)) {
	result := make([]T, 1)
	intoRows(&sink[T]{direct: result}, &fold{outer: 1, k: k}, r, load, func(_ int, x []T) T { return r.Block(x) }, func(_, _ int) {})
	out := newSink[T](dst)
	done := finished(&out, finish)
	for lo, n := 0, dst.Numel(); lo < n; lo += blockSize {
		hi := min(lo+blockSize, n)
		kernel.Fill(out.block(lo, hi), result[0])
		done(lo, hi)
	}
	goruntime.KeepAlive(dst)
}

// reduceBlocks is reduceTo of elements that load gives in the order of f, as
// source.block does.
func reduceBlocks[T dtype.Number](dst *tensor.Tensor, f *fold, r *kernel.Reduction[T], load func(lo, hi int) []T, finish func(lo int, d []T)) {
	if f.inner == 0 {
		reduceInRows(dst, f, r, load, func(_ int, x []T) T { return r.Block(x) }, finish)
		return
	}
	out := newSink[T](dst)
	if dst.Numel() > 0 {
		reduceColumns(dst, &out, f, r, load, finished(&out, finish))
	}
	goruntime.KeepAlive(dst)
}

// reduceInRows is reduceBlocks of a fold in rows, where block makes what r.Block makes of the
// values that are reduced of the elements that load gives.
func reduceInRows[S, T dtype.Number](dst *tensor.Tensor, f *fold, r *kernel.Reduction[T], load func(lo, hi int) []S, block func(row int, x []S) T, finish func(lo int, d []T)) {
	out := newSink[T](dst)
	if dst.Numel() > 0 {
		intoRows(&out, f, r, load, block, finished(&out, finish))
	}
	goruntime.KeepAlive(dst)
}

// intoRows is reduceInRows with the results in out, and done called where some are ready.
func intoRows[S, T dtype.Number](out *sink[T], f *fold, r *kernel.Reduction[T], load func(lo, hi int) []S, block func(row int, x []S) T, done func(lo, hi int)) {
	tree, k := kernel.NewTree(r), f.k
	eachRows(out, f.outer, max(blockSize/max(k, 1), 1), done, func(row int, d []T) {
		switch {
		case k == 0:
			kernel.Fill(d, r.Zero)
		case k <= kernel.Block:
			rows := load(row*k, (row+len(d))*k)
			for i := range d {
				d[i] = block(row+i, rows[i*k:(i+1)*k])
			}
		default:
			d[0] = tree.Row(k, func(part []T, lo, hi int) {
				for i := range part {
					part[i] = block(row, load(row*k+lo, row*k+min(lo+kernel.Block, hi)))
					lo += kernel.Block
				}
			})
		}
	})
}

// eachRows has reduce store the results of outer rows in out, at most step at a time, from row lo on.
func eachRows[T dtype.Number](out *sink[T], outer, step int, done func(lo, hi int), reduce func(lo int, d []T)) {
	for lo := 0; lo < outer; lo += step {
		hi := min(lo+step, outer)
		reduce(lo, out.block(lo, hi))
		done(lo, hi)
	}
}

// finished returns what is done with results of out that are ready.
func finished[T dtype.Number](out *sink[T], finish func(lo int, d []T)) func(lo, hi int) {
	return func(lo, hi int) {
		if finish != nil {
			finish(lo, out.block(lo, hi))
		}
		out.store(lo, hi)
	}
}

// reduceColumns reduces the columns of tables: narrow ones several rows at a
// time, wide ones a block of columns at a time.
func reduceColumns[T dtype.Number](dst *tensor.Tensor, out *sink[T], f *fold, r *kernel.Reduction[T], load func(lo, hi int) []T, done func(lo, hi int)) {
	width := min(f.inner, blockSize)
	step := 1
	if width == f.inner {
		step = max(blockSize/width, 1)
	}
	room, b := scratch[T](dst, kernel.ColumnsRoom(width))
	defer b.Discard()
	columns := kernel.NewColumnsIn(r, room)
	for table := range f.outer {
		for left := 0; left < f.inner; left += width {
			w := min(width, f.inner-left)
			columns.Start(w)
			for row := 0; row < f.k; row += step {
				n := min(step, f.k-row)
				at := (table*f.k+row)*f.inner + left
				columns.Add(load(at, at+(n-1)*f.inner+w))
			}
			lo := table*f.inner + left
			columns.Result(out.block(lo, lo+w))
			done(lo, lo+w)
		}
	}
}

// scratch returns room for n elements, which hold anything, of the allocator of
// like, and the buffer that it lies in, to be discarded.
func scratch[T dtype.Number](like *tensor.Tensor, n int) ([]T, *tensor.Buffer) {
	if a := like.Buffer().Allocator(); a != nil {
		if room, b, err := tensor.Room[T](a, n); err == nil {
			return room, b
		}
	}
	return make([]T, n), nil
}
