package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// do2 returns the first result of the operator called name of two tensors.
func (m *maker) do2(name string, x, y *tensor.Tensor, args ...Arg) *tensor.Tensor {
	return m.Do(name, []*tensor.Tensor{x, y}, args...)
}

// listOf returns the ints of Args[i], an IntOrSeq.
func (m *maker) listOf(i int) []int {
	if a := m.c.Args[i]; a.Set {
		return a.Ints
	}
	return []int{m.int(i)}
}

// makeUnflatten fills in -1 by the dim alone: the elements of x do not tell it where
// another dim has none.
func makeUnflatten(m *maker) *tensor.Tensor {
	x := m.x(0)
	d, s := m.dim(0, x), x.Shape()
	if len(s) == 0 {
		m.refuse("x", Describe(x), "a tensor of at least one dim", "")
	}
	sizes := m.c.Args[1].Ints
	if len(sizes) == 0 {
		m.refuse("sizes", "()", "at least one size", "")
	}
	filled, err := fillSize(m.c, "sizes", sizes, s[d:d+1])
	m.check(err)
	return m.do("reshape", x, IntsN(slices.Concat(s[:d], filled, s[d+1:])...))
}

func makeMovedim(m *maker) *tensor.Tensor {
	x, n := m.x(0), len(m.x(0).Shape())
	from, to := m.listOf(0), m.listOf(1)
	if len(from) != len(to) {
		m.refuse("destination", fmt.Sprintf("%d dims", len(to)), fmt.Sprint(len(from)), "as many as source")
	}
	order := make([]int, n)
	for i := range order {
		order[i] = -1
	}
	moved := map[int]bool{}
	for i := range from {
		a, err := m.c.dim("source", from[i], n, x.Shape())
		m.check(err)
		b, err := m.c.dim("destination", to[i], n, x.Shape())
		m.check(err)
		if moved[a] || order[b] >= 0 {
			m.refuse("source", listText(from)+" to "+listText(to), "each dim once", "")
		}
		order[b], moved[a] = a, true
	}
	next := 0
	for i := range order {
		for ; order[i] < 0 && moved[next]; next++ {
		}
		if order[i] < 0 {
			order[i] = next
			next++
		}
	}
	return m.do("permute", x, IntsN(order...))
}

func makeRot90(m *maker) *tensor.Tensor {
	x, dims := m.x(0), m.c.Args[1].Ints
	if len(dims) != 2 {
		m.refuse("dims", listText(dims), "two dims", "")
	}
	a, err := m.c.dim("dims", dims[0], len(x.Shape()), x.Shape())
	m.check(err)
	b, err := m.c.dim("dims", dims[1], len(x.Shape()), x.Shape())
	m.check(err)
	if a == b {
		m.refuse("dims", listText(dims), "two dims", "")
	}
	switch ((m.int(0) % 4) + 4) % 4 {
	case 1:
		return m.Transpose(m.do("flip", x, IntsN(b)), a, b)
	case 2:
		return m.do("flip", x, IntsN(a, b))
	case 3:
		return m.do("flip", m.Transpose(x, a, b), IntsN(b))
	}
	return m.do("clone", x)
}

func makeRepeatInterleave(m *maker) *tensor.Tensor {
	x, d := m.x(0), 0
	if m.c.Args[1].Set && len(x.Shape()) > 0 {
		d = m.dim(1, x)
	} else {
		x = m.do("flatten", x, Int1(0), Int1(-1))
	}
	s, times := x.Shape(), m.listOf(0)
	for _, n := range times {
		if n < 0 || n > 1<<31 {
			m.refuse("repeats", fmt.Sprint(n), "a non-negative int below 2³¹", "")
		}
	}
	if len(times) == 1 {
		n := times[0]
		m.checkOutputSize(s[d] * n)
		wide := slices.Concat(s[:d+1], []int{n}, s[d+1:])
		long := slices.Concat(s[:d], []int{s[d] * n}, s[d+1:])
		return m.Reshape(m.Expand(m.column(x, d+1), wide), long)
	}
	if len(times) != s[d] {
		m.refuse("repeats", listText(times), fmt.Sprintf("%d ints", s[d]), fmt.Sprintf("as many as x has elements along dim %d", d))
	}
	var list []int64
	for i, n := range times {
		if len(list)+n > maxChoices {
			m.refuse("repeats", listText(times), fmt.Sprintf("at most %d in all", maxChoices), "")
		}
		list = append(list, slices.Repeat([]int64{int64(i)}, n)...)
	}
	m.checkOutputSize(len(list))
	at, err := FromInts(m.c.Ctx, dtype.Int64, shape.Shape{len(list)}, list)
	m.check(err)
	return m.do2("index_select", x, at, Int1(d))
}

// checkOutputSize refuses an output_size, the third argument, other than n.
func (m *maker) checkOutputSize(n int) {
	if a := m.c.Args[2]; a.Set && a.Int != n {
		m.refuse("output_size", fmt.Sprint(a.Int), fmt.Sprint(n), "what repeats makes")
	}
}

// makeDiagEmbed puts the matrices of rows on a diagonal where their dims are to be.
func makeDiagEmbed(m *maker) *tensor.Tensor {
	y := m.onDiagonal(m.x(0), m.int(0))
	d1, d2 := m.dim(1, y), m.dim(2, y)
	if d1 == d2 {
		m.refuse("dim2", fmt.Sprint(m.int(2)), "another dim than dim1", "")
	}
	if n := len(y.Shape()); d1 != n-2 || d2 != n-1 {
		y = m.do("movedim", y, IntsN(-2, -1), IntsN(d1, d2))
	}
	return y
}

// dimsLast returns the dims of x in the order in which a and b, two of them, are the last.
func (m *maker) dimsLast(x *tensor.Tensor, a, b int) []int {
	if len(x.Shape()) < 2 || a == b {
		m.refuse("x", Describe(x), "two dims", "")
	}
	order := []int{}
	for d := range x.Shape() {
		if d != a && d != b {
			order = append(order, d)
		}
	}
	return append(order, a, b)
}

// diagonal returns the diagonal of dims a and b of x, offset columns to the right,
// as a last dim. Of a whole tensor it is a view, as in PyTorch.
func (m *maker) diagonal(x *tensor.Tensor, offset, a, b int) *tensor.Tensor {
	order := m.dimsLast(x, a, b)
	base := x
	x = m.do("permute", x, IntsN(order...))
	s := x.Shape()
	lead, rows, cols := s[:len(s)-2], s[len(s)-2], s[len(s)-1]
	down, right := max(-offset, 0), max(offset, 0)
	k := max(min(rows-down, cols-right), 0)
	if k == 0 {
		return m.Reshape(m.do("narrow", m.do("narrow", x, Int1(-2), Int1(0), Int1(0)), Int1(-1), Int1(0), Int1(min(1, cols))), append(slices.Clone(lead), 0))
	}
	if !base.Placed() {
		n, start, size := len(order), make([]int, len(order)), append(slices.Clone(lead), k)
		start[a], start[b] = down, right
		steps := make([][]int, n-1)
		for i, d := range order[:n-2] {
			steps[i] = unit(n, d, 1)
		}
		steps[n-2] = unit(n, a, 1)
		steps[n-2][b] = 1
		if shape.Shape(lead).Numel() > 0 {
			return m.lattice(base, start, size, steps...)
		}
	}
	x = m.do("narrow", m.do("narrow", x, Int1(-2), Int1(down), Int1(k)), Int1(-1), Int1(right), Int1(k))
	row := m.Reshape(x, append(slices.Clone(lead), k*k))
	return m.lost(m.do("slice", row, Int1(-1), None, None, Int1(k+1)))
}

// onDiagonal returns matrices with the last dim of x on their diagonal, offset
// columns to the right.
func (m *maker) onDiagonal(x *tensor.Tensor, offset int) *tensor.Tensor {
	s := x.Shape()
	if len(s) == 0 {
		m.refuse("x", Describe(x), "a tensor of at least one dim", "")
	}
	n := s[len(s)-1]
	down, right := max(-offset, 0), max(offset, 0)
	square := m.Where(m.eye(n, n, dtype.Bool), m.column(x, len(s)-1), integer(0))
	square = m.Cast(square, x.DType())
	if offset == 0 {
		return square
	}
	return m.do("pad", square, IntsN(right, down, down, right), Str1("constant"), Float1(0))
}

func makeTakeAlongDim(m *maker) *tensor.Tensor {
	x, index := m.x(0), m.x(1)
	if !m.c.Args[0].Set {
		row := func(x *tensor.Tensor) *tensor.Tensor { return m.do("flatten", x, Int1(0), Int1(-1)) }
		return m.do2("gather", row(x), row(index), Int1(0))
	}
	d := m.dim(0, x)
	if len(index.Shape()) != len(x.Shape()) {
		m.refuse("indices", Describe(index), fmt.Sprintf("a tensor of %d dims", len(x.Shape())), "as many as x has")
	}
	xs, is := slices.Clone(x.Shape()), slices.Clone(index.Shape())
	for i := range xs {
		if i != d {
			xs[i] = max(xs[i], is[i]) * min(1, xs[i]*is[i])
			is[i] = xs[i]
		}
	}
	return m.do2("gather", m.Expand(x, xs), m.Expand(index, is), Int1(d))
}

// along returns an index of slices along d as one of elements of src.
func (m *maker) along(index *tensor.Tensor, d int, src *tensor.Tensor) *tensor.Tensor {
	if len(src.Shape()) == 0 && len(index.Shape()) <= 1 && index.Numel() == 1 { // a number counts as a row of one
		return m.Reshape(index, shape.Shape{})
	}
	if len(index.Shape()) != 1 || len(src.Shape()) <= d || index.Shape()[0] != src.Shape()[d] {
		m.refuse("index", Describe(index), fmt.Sprintf("a tensor of as many elements as src, %s, has slices along dim %d", Describe(src), d), "")
	}
	return m.Expand(m.Reshape(index, replaced(make1s(len(src.Shape())), d, index.Shape()[0])), src.Shape())
}

func makeUnfold(m *maker) *tensor.Tensor {
	x, d := m.x(0), m.dim(0, m.x(0))
	size, step, n := m.int(1), m.int(2), sizeAt(m.x(0), d)
	switch {
	case len(x.Shape()) == 0:
		m.refuse("x", Describe(x), "a tensor of at least one dim", "")
	case size < 0 || size > n:
		m.refuse("size", fmt.Sprint(size), fmt.Sprintf("0..%d", n), fmt.Sprintf("shape %v", x.Shape()))
	case step < 1:
		m.refuse("step", fmt.Sprint(step), "a positive int", "")
	}
	count := (n-size)/step + 1
	if rest := shape.Shape(slices.Concat(x.Shape()[:d], x.Shape()[d+1:])); !x.Placed() && step >= size && size > 0 && rest.Numel() > 0 {
		dims := len(x.Shape())
		steps := make([][]int, dims+1)
		for i := range dims {
			steps[i] = unit(dims, i, 1)
		}
		steps[d], steps[dims] = unit(dims, d, step), unit(dims, d, 1)
		sizes := append(slices.Clone(x.Shape()), size)
		sizes[d] = count
		return m.lattice(x, make([]int, dims), sizes, steps...)
	}
	first := m.upTo(count)
	at := m.Add(m.column(m.Mul(first, integer(step)), 1), m.upTo(size))
	y := m.do2("index_select", x, m.Reshape(at, shape.Shape{count * size}), Int1(d))
	s := x.Shape()
	y = m.Reshape(y, slices.Concat(s[:d], []int{count, size}, s[d+1:]))
	order := []int{}
	for i := range y.Shape() {
		if i != d+1 {
			order = append(order, i)
		}
	}
	return m.lost(m.do("permute", y, IntsN(append(order, d+1)...)))
}

func makeBlockDiag(m *maker) *tensor.Tensor {
	width, at := 0, 0
	list := make([]*tensor.Tensor, len(m.c.In))
	for i, x := range m.c.In {
		list[i] = m.atLeast(x, 2)
		if len(list[i].Shape()) != 2 {
			m.refuse("tensors", Describe(x)+fmt.Sprintf(" at index %d", i), "tensors of two dims at most", "")
		}
		width += list[i].Shape()[1]
	}
	for i, x := range list {
		w := x.Shape()[1]
		list[i] = m.do("pad", x, IntsN(at, width-at-w), Str1("constant"), Float1(0))
		at += w
	}
	return m.Do("cat", list, Int1(0))
}

// atLeast returns x with at least n dims, as NumPy puts them around it.
func (m *maker) atLeast(x *tensor.Tensor, n int) *tensor.Tensor {
	s := slices.Clone(x.Shape())
	for len(s) < n {
		if len(s) == 2 { // a third dim comes last
			s = append(s, 1)
		} else {
			s = append(shape.Shape{1}, s...)
		}
	}
	return m.Reshape(x, s)
}

// leastDims returns the number of dims of the input that has fewest, 1 at least.
func (m *maker) leastDims() int {
	n := 1 << 30
	for _, x := range m.c.In {
		n = min(n, max(len(x.Shape()), 1))
	}
	return n
}

// joined returns the inputs, of at least n dims, joined along dim d.
func (m *maker) joined(n, d int) *tensor.Tensor {
	list := make([]*tensor.Tensor, len(m.c.In))
	for i, x := range m.c.In {
		list[i] = m.atLeast(x, n)
	}
	return m.Do("cat", list, Int1(d))
}

// grid returns each input along a dim of its own, broadcast over the others.
func (m *maker) grid() []*tensor.Tensor {
	var s shape.Shape
	for i, x := range m.c.In {
		if len(x.Shape()) > 1 {
			m.refuse("tensors", Describe(x)+fmt.Sprintf(" at index %d", i), "tensors of one dim at most", "")
		}
		s = append(s, x.Numel())
	}
	out := make([]*tensor.Tensor, len(m.c.In))
	for i, x := range m.c.In {
		out[i] = m.Expand(m.Reshape(x, replaced(make1s(len(s)), i, s[i])), s)
	}
	return out
}

// maxParts is how many parts a tensor is split into at the most.
const maxParts = 1 << 16

func makeTensorSplit(m *maker) []*tensor.Tensor {
	x, d := m.x(0), m.dim(1, m.x(0))
	n := sizeAt(x, d)
	cuts := m.c.Args[0].Ints
	if !m.c.Args[0].Set {
		k := m.int(0)
		if k < 1 || k > maxParts {
			m.refuse("indices_or_sections", fmt.Sprint(k), fmt.Sprintf("an int from 1 to %d", maxParts), "")
		}
		cuts = nil
		for i := 1; i < k; i++ {
			cuts = append(cuts, i*(n/k)+min(i, n%k))
		}
	}
	out, lo := []*tensor.Tensor{}, 0
	for _, cut := range append(slices.Clone(cuts), n) {
		if cut < 0 {
			cut += n
		}
		cut = min(max(cut, 0), n)
		out = append(out, m.do("narrow", x, Int1(d), Int1(min(lo, n)), Int1(max(cut-lo, 0))))
		lo = cut
	}
	return out
}

// upTo returns the integers from 0 to n-1.
func (m *maker) upTo(n int) *tensor.Tensor {
	return m.Do("arange", []*tensor.Tensor{integer(0), integer(n), nil}, Int1(int(dtype.Int64)))
}

// maxChoices is how many choices there are at the most.
const maxChoices = 1 << 24

// choices returns the choices of r elements of x.
func (m *maker) choices() *tensor.Tensor {
	x, r, again := m.x(0), m.int(0), m.bool(1)
	if len(x.Shape()) != 1 {
		m.refuse("x", Describe(x), "a tensor [n]", "")
	}
	if r < 0 || r > 64 {
		m.refuse("r", fmt.Sprint(r), "an int from 0 to 64", "")
	}
	n := x.Numel()
	var list []int64
	index := make([]int, r)
	var walk func(at, from int)
	walk = func(at, from int) {
		if at == r {
			for _, i := range index {
				list = append(list, int64(i))
			}
			return
		}
		for i := from; i < n && len(list) <= maxChoices; i++ {
			next := i + 1
			if again {
				next = i
			}
			index[at] = i
			walk(at+1, next)
		}
	}
	if r > 0 {
		walk(0, 0)
	}
	if len(list) > maxChoices {
		m.refuse("x", Describe(x), fmt.Sprintf("at most %d numbers in all choices", maxChoices), "")
	}
	at, err := FromInts(m.c.Ctx, dtype.Int64, shape.Shape{len(list)}, list)
	m.check(err)
	return m.Reshape(m.do2("index_select", x, at, Int1(0)), shape.Shape{len(list) / max(r, 1), r})
}
