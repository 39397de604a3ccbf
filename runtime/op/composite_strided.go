package op

import (
	"fmt"
	"slices"
	"sort"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var (
	inSize    = Param{Name: "size", Kind: Ints, Doc: "the sizes of the result"}
	inStrides = Param{Name: "stride", Kind: Ints, Doc: "how many elements apart neighbours along each dim are, none negative"}
	inOffset  = inInt("storage_offset", "the first element", 0)
)

// Operators that see the elements of a tensor, in row-major order, through sizes and
// strides of one's own.
func init() {
	for _, copied := range []bool{false, true} {
		name, what := "as_strided", "It shares the storage of x where x is contiguous and no two of its elements are one; else it is a copy, in which nothing can be stored."
		if copied {
			name, what = "as_strided_copy", "It is a copy."
		}
		compositeOf(&Def{Name: name, Surface: bothSides, Params: []Param{inX, inSize, inStrides, inOffset},
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, size, stride, storage_offset=0) returns the elements of x that are stride apart along each dim, counted in row-major order from the first of x.\n%s\n>>> arange(6).%s([2, 2], [1, 2]).tolist()\n[[0, 2], [1, 3]]", name, what, name)
			}},
			func(m *maker) []*tensor.Tensor {
				y := m.strided(m.x(0), m.c.Args[0].Ints, m.c.Args[1].Ints, m.int(2))
				if copied {
					return one(m.unary("clone", y))
				}
				if y.Placed() || y.Buffer() != m.x(0).Buffer() {
					m.lost(y)
				}
				return one(y)
			})
	}
	compositeOf(&Def{Name: "as_strided_scatter", Surface: bothSides, Params: []Param{inX, inSource, inSize, inStrides, inOffset},
		Doc: "as_strided_scatter(x, src, size, stride, storage_offset=0) returns a copy of x with src in the place of what as_strided would give, no two elements of which may be one.\n>>> zeros(4).as_strided_scatter(ones(2), [2], [2]).tolist()\n[1.0, 0.0, 1.0, 0.0]"},
		func(m *maker) []*tensor.Tensor {
			size, stride := m.c.Args[0].Ints, m.c.Args[1].Ints
			m.checkStrided(m.x(0), size, stride, m.int(2))
			if !separate(size, stride) {
				m.refuse("stride", listText(stride), "strides by which no two elements are one", "sizes "+listText(size))
			}
			if !m.x(1).Shape().Equal(shape.Shape(size)) {
				m.refuse("src", Describe(m.x(1)), "shape "+shape.Shape(size).String(), "")
			}
			if m.x(1).Numel() == 0 {
				return one(m.unary("clone", m.x(0)))
			}
			return one(m.do2("region_set", m.x(0), m.Cast(m.x(1), m.x(0).DType()), m.c.Args...))
		})
	compositeOf(&Def{Name: "diagonal_scatter", Surface: bothSides, Params: []Param{inX, inSource, inInt("offset", "how far to the right", 0), inDim("dim1", 0), inDim("dim2", 1)},
		Doc: "diagonal_scatter(x, src, offset=0, dim1=0, dim2=1) returns a copy of x with src in the place of diagonal(x, offset, dim1, dim2).\n>>> zeros(2, 2).diagonal_scatter(ones(2)).tolist()\n[[1.0, 0.0], [0.0, 1.0]]"},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			return one(m.diagonalSet(x, m.x(1), m.int(0), m.dim(1, x), m.dim(2, x)))
		})
	dt := Param{Name: "dtype", Kind: OptDType, Doc: "a dtype, None for the default float", Default: Default(None)}
	compositeOf(&Def{Name: "empty_strided", Surface: Function, Creates: true, Params: []Param{inSize, inStrides, dt},
		Doc: "empty_strided(size, stride, dtype=None) returns a tensor of zeros with strides of one's own; see empty.\n>>> empty_strided([2, 3], [1, 2]).stride()\n(1, 2)"},
		func(m *maker) []*tensor.Tensor { return one(m.emptyStrided(m.c.dtypeArg(2, m.c.Ctx.Float))) })
	compositeOf(&Def{Name: "new_empty_strided", Surface: Method, Creates: true, Params: []Param{inX, inSize, inStrides, {Name: "dtype", Kind: OptDType, Doc: "a dtype, None for that of x", Default: Default(None)}},
		Doc: "new_empty_strided(x, size, stride, dtype=None) returns a tensor that empty_strided makes, of the dtype of x.\nOf a DTensor it is what new_empty makes if the strides are those of row-major order, and else plain.\n>>> tensor([1]).new_empty_strided([2, 3], [1, 2]).stride()\n(1, 2)"},
		func(m *maker) []*tensor.Tensor {
			size, dt := shape.Shape(m.c.Args[0].Ints), m.c.dtypeArg(2, m.x(0).DType())
			if slices.Equal(size.Strides(), m.c.Args[1].Ints) && m.x(0).Placed() {
				return one(m.do("empty_like", m.beside(size), Int1(int(dt))))
			}
			return one(m.emptyStrided(dt))
		})
	compositeOf(&Def{Name: "empty_permuted", Surface: Function, Creates: true, Params: []Param{inSize, {Name: "physical_layout", Kind: Ints, Doc: "the dims, the one whose neighbours lie farthest apart first"}, dt},
		Doc: "empty_permuted(size, physical_layout, dtype=None) returns a tensor of zeros whose dims lie in memory in an order of one's own; see empty.\n>>> empty_permuted([2, 3], [1, 0]).stride()\n(1, 2)"},
		func(m *maker) []*tensor.Tensor {
			size, order := m.c.Args[0].Ints, m.c.Args[1].Ints
			if sorted := slices.Sorted(slices.Values(order)); len(order) != len(size) || !slices.Equal(sorted, firstInts(len(size))) {
				m.refuse("physical_layout", listText(order), fmt.Sprintf("each of the %d dims once", len(size)), "")
			}
			y := m.Do("empty", nil, IntsN(pick(size, order)...), Int1(int(m.c.dtypeArg(2, m.c.Ctx.Float))))
			return one(m.Permute(y, inverse(order)))
		})
}

// checkStrided refuses sizes and strides that reach outside x.
func (m *maker) checkStrided(x *tensor.Tensor, size, stride []int, offset int) {
	if len(size) != len(stride) {
		m.refuse("stride", listText(stride), fmt.Sprintf("%d strides", len(size)), "one for each of size")
	}
	last := offset
	for i, n := range size {
		if n < 0 || stride[i] < 0 {
			m.refuse("size", listText(size), "no negative size or stride", "strides "+listText(stride))
		}
		if n == 0 {
			return
		}
		if n > 1 && stride[i] > x.Numel()/(n-1) {
			last = x.Numel()
			break
		}
		last += (n - 1) * stride[i]
	}
	if offset < 0 || last >= x.Numel() {
		m.refuse("size", listText(size), fmt.Sprintf("elements among the %d of x", x.Numel()), fmt.Sprintf("strides %s, the first is element %d", listText(stride), offset))
	}
}

// separate reports whether it is certain that no two elements of given sizes and
// strides are one: each dim steps over all that the ones of smaller strides reach.
func separate(size, stride []int) bool {
	dims := firstInts(len(size))
	sort.Slice(dims, func(i, j int) bool { return stride[dims[i]] < stride[dims[j]] })
	reach := 0
	for _, d := range dims {
		if size[d] < 2 {
			continue
		}
		if stride[d] <= reach {
			return false
		}
		reach += (size[d] - 1) * stride[d]
	}
	return true
}

// strided returns the elements of x with sizes and strides: a region, or where it
// names an element twice, a selection.
func (m *maker) strided(x *tensor.Tensor, size, stride []int, offset int) *tensor.Tensor {
	m.checkStrided(x, size, stride, offset)
	if shape.Shape(size).Numel() == 0 {
		offset = 0
	}
	if separate(size, stride) {
		return m.do("region_get", x, IntsN(size...), IntsN(stride...), Int1(offset))
	}
	index := m.full(integer(offset), dtype.Int64)
	for i, n := range size {
		index = m.Add(m.column(index, len(index.Shape())), m.Mul(m.upTo(n), integer(stride[i])))
	}
	y := m.do2("index_select", m.do("flatten", x, Int1(0), Int1(-1)), m.do("flatten", index, Int1(0), Int1(-1)), Int1(0))
	return m.Reshape(y, size)
}

// emptyStrided returns zeros with the sizes and strides of Args[0] and Args[1].
func (m *maker) emptyStrided(dt dtype.DType) *tensor.Tensor {
	size, stride := m.c.Args[0].Ints, m.c.Args[1].Ints
	n := 1
	for i, k := range size[:min(len(size), len(stride))] {
		if k < 0 || stride[i] < 0 || k > 1<<40 || stride[i] > 1<<40 || n > 1<<45 {
			m.refuse("size", listText(size), "the sizes of a tensor, and strides, none negative", "strides "+listText(stride))
		}
		n += max(k-1, 0) * min(stride[i], 1<<45)
	}
	return m.strided(m.Do("empty", nil, IntsN(n), Int1(int(dt))), size, stride, 0)
}

// diagonalSet returns a copy of x with src on a diagonal of dims a and b.
func (m *maker) diagonalSet(x, src *tensor.Tensor, offset, a, b int) *tensor.Tensor {
	order := m.dimsLast(x, a, b)
	y := m.Permute(x, order)
	s := y.Shape()
	lead, rows, cols := s[:len(s)-2], s[len(s)-2], s[len(s)-1]
	down, right := max(-offset, 0), max(offset, 0)
	k := max(min(rows-down, cols-right), 0)
	want := append(slices.Clone(lead), k)
	if !src.Shape().Equal(want) {
		m.refuse("src", Describe(src), "shape "+want.String(), "that of the diagonal")
	}
	if k == 0 {
		return m.unary("clone", x)
	}
	index := m.Add(m.Mul(m.upTo(k), integer(cols+1)), integer(down*cols+right))
	flat := m.Reshape(y, append(slices.Clone(lead), rows*cols))
	flat = m.Do("index_copy", []*tensor.Tensor{flat, index, m.Cast(src, x.DType())}, Int1(len(lead)))
	return m.Permute(m.Reshape(flat, s), inverse(order))
}
