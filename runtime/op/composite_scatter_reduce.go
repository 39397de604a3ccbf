package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	const how = "the reduction is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", with the element of x or, without include_self, of src alone"
	reductions := []string{"sum", "prod", "mean", "amax", "amin"}
	last := []Param{
		{Name: "reduce", Kind: Choice, Doc: "which reduction", Choices: reductions},
		{Name: "include_self", Kind: Bool, Doc: "whether the element of x has a part", Default: Default(Bool1(true))},
	}
	compositeOf(&Def{Name: "scatter_reduce", Surface: Method | Function,
		Doc: "scatter_reduce(x, dim, index, src, reduce, include_self=True) returns a copy of x in which elements that index names are reduced with those of src: each at its place but with the index of dim that index gives.\n" +
			"Of them, " + how + ".\nindex has as many dims as x, is no larger than src, and no larger than x but along dim.\n" +
			">>> zeros(3).scatter_reduce(0, tensor([2, 0, 2]), tensor([1.0, 2.0, 5.0]), reduce=\"amax\").tolist()\n[2.0, 0.0, 5.0]",
		Params: append([]Param{inX, {Name: "dim", Kind: Dim, Doc: "the dim to index"}, {Name: "index", Kind: Tensor, Doc: "an integer tensor"}, {Name: "src", Kind: Tensor, Doc: "a tensor of x's dtype"}}, last...)},
		func(m *maker) []*tensor.Tensor {
			return one(m.scatterReduced(m.x(0), m.x(1), m.x(2), m.dim(0, m.x(0)), m.c.Args[1].Str, m.bool(2)))
		})
	lastOfSlices := []Param{last[0], last[1]}
	lastOfSlices[0].Choices = []string{"prod", "mean", "amax", "amin"}
	compositeOf(&Def{Name: "index_reduce", Surface: Method | Function,
		Doc: "index_reduce(x, dim, index, src, reduce, include_self=True) returns a copy of x in which slices along dim that index names are reduced with those of src.\n" +
			"See scatter_reduce; index_add adds them.\n" +
			">>> ones(2).index_reduce(0, tensor([1, 1]), tensor([2.0, 5.0]), reduce=\"prod\").tolist()\n[1.0, 10.0]",
		Params: append([]Param{inX, {Name: "dim", Kind: Dim, Doc: "a dim"}, {Name: "index", Kind: Tensor, Doc: "an integer tensor [n]"}, {Name: "src", Kind: Tensor, Doc: "a tensor with n slices along dim"}}, lastOfSlices...)},
		func(m *maker) []*tensor.Tensor {
			d := m.dim(0, m.x(0))
			return one(m.scatterReduced(m.x(0), m.along(m.x(1), d, m.x(2)), m.x(2), d, m.c.Args[1].Str, m.bool(2)))
		})
	compositeOf(&Def{Name: "put", Surface: Method | Function,
		Doc: "put(x, index, source, accumulate=False) returns a copy of x with source at places that index counts through all of x in row-major order.\n" +
			"With accumulate they are added up; without, of equal places the last wins.\n" +
			">>> zeros(2, 2).put(tensor([3, 3]), tensor([1.0, 2.0]), accumulate=True).tolist()\n[[0.0, 0.0], [0.0, 3.0]]",
		Params: []Param{inX, {Name: "index", Kind: Tensor, Doc: "an integer tensor"}, {Name: "source", Kind: Operand, Doc: "a tensor of as many elements as index or that broadcasts to it, or a number"}, {Name: "accumulate", Kind: Bool, Doc: "whether to add", Default: Default(None)}}},
		func(m *maker) []*tensor.Tensor { return one(m.putAt(m.x(0), m.x(1), m.x(2), m.bool(0))) })
	putRows := []Param{inX, {Name: "index", Kind: Tensor, Doc: "an integer tensor"}, {Name: "source", Kind: Operand, Doc: "a tensor that broadcasts to index and the other dims of x, or a number"},
		{Name: "dims", Kind: Int, Doc: "how many of the first dims of x make the rows"}, {Name: "accumulate", Kind: Bool, Doc: "whether to add", Default: Default(None)}}
	compositeOf(&Def{Name: "put_rows", Surface: Internal, Params: putRows,
		Doc: "put_rows(x, index, source, dims, accumulate=False) returns a copy of x with source in the rows that index counts through the first dims of x. Scripts write x.index_put(indices, source, accumulate)."},
		func(m *maker) []*tensor.Tensor {
			return one(m.putRows(m.x(0), m.x(1), m.x(2), m.int(0), m.bool(1)))
		})
	compositeOf(&Def{Name: "put_rows_", Surface: Internal, Params: putRows,
		Doc: "put_rows_(x, index, source, dims, accumulate=False) stores what put_rows returns in x and returns x."},
		func(m *maker) []*tensor.Tensor { return one(m.stored(must("put_rows"))) })
	compositeOf(&Def{Name: "masked_scatter", Surface: Method | Function,
		Doc: "masked_scatter(x, mask, source) returns a copy of x in which the elements where mask is true are those of source, in order.\n" +
			"mask and x are broadcast with each other; source has at least as many elements as mask has true ones.\n" +
			">>> zeros(4).masked_scatter(tensor([True, False, True, False]), tensor([1.0, 2.0, 3.0])).tolist()\n[1.0, 0.0, 2.0, 0.0]",
		Params: []Param{inX, {Name: "mask", Kind: Tensor, Doc: "a bool tensor"}, {Name: "source", Kind: Tensor, Doc: "a tensor of x's dtype"}}},
		func(m *maker) []*tensor.Tensor { return one(m.maskedScatter(m.x(0), m.x(1), m.x(2))) })
}

// scatterReduced returns x with what src has at places that index gives along d.
func (m *maker) scatterReduced(x, index, src *tensor.Tensor, d int, how string, own bool) *tensor.Tensor {
	if len(x.Shape()) == 0 { // PyTorch takes a number for a row of one
		row := func(t *tensor.Tensor) *tensor.Tensor { return m.Reshape(t, shape.Shape{t.Numel()}) }
		return m.Reshape(m.scatterReduced(row(x), row(index), row(src), 0, how, own), shape.Shape{})
	}
	if how != "sum" && how != "mean" {
		return m.Do("scatter_fold", []*tensor.Tensor{x, index, src}, Int1(d), Str1(how), Bool1(own))
	}
	count := m.Do("scatter_add", []*tensor.Tensor{m.Do("zeros_like", one(x), Int1(int(dtype.Int64))), index, m.Do("ones_like", one(index), Int1(int(dtype.Int64)))}, Int1(d))
	base := x
	if !own {
		base = m.Where(m.truth(count), integer(0), x)
	}
	sum := m.Do("scatter_add", []*tensor.Tensor{base, index, src}, Int1(d))
	if how == "sum" {
		return sum
	}
	if own {
		count = m.Add(count, integer(1))
	} else {
		count = m.binary("maximum", count, integer(1))
	}
	if x.DType().IsFloat() {
		return m.Cast(m.Div(sum, m.Cast(count, x.DType().Compute())), x.DType())
	}
	return m.Cast(m.binary("floordiv", sum, count), x.DType())
}

// putAt returns x with source at the elements of numbers index.
func (m *maker) putAt(x, index, source *tensor.Tensor, add bool) *tensor.Tensor {
	return m.putRows(x, index, source, len(x.Shape()), add)
}

// putRows returns x with source in the rows of numbers index, which the first k dims of x make.
func (m *maker) putRows(x, index, source *tensor.Tensor, k int, add bool) *tensor.Tensor {
	s, row := x.Shape(), x.Shape()[k:]
	whole := slices.Concat(index.Shape(), row)
	if source.Numel() == whole.Numel() && !source.Weak() {
		source = m.Reshape(source, whole)
	}
	if b, ok := shape.Broadcast(source.Shape(), whole); !ok || !b.Equal(whole) {
		m.refuse("source", Describe(source), fmt.Sprintf("a shape that broadcasts to %v", whole), "that of what index selects")
	}
	if !source.Weak() && source.DType() != x.DType() {
		m.refuse("source", Describe(source), fmt.Sprintf("dtype %v", x.DType()), "x is "+Describe(x))
	}
	rows := func(n int) shape.Shape { return slices.Concat(shape.Shape{n}, row) }
	source = m.Reshape(m.Expand(m.Cast(source, x.DType()), whole), rows(index.Numel()))
	in := []*tensor.Tensor{m.Reshape(x, rows(s[:k].Numel())), m.Reshape(index, shape.Shape{index.Numel()}), source}
	if !add {
		return m.Reshape(m.Do("index_put", in), s)
	}
	if x.DType() == dtype.Bool { // what is added to a truth leaves it true
		for _, i := range []int{0, 2} {
			in[i] = m.Cast(in[i], dtype.Int64)
		}
	}
	if len(row) > 0 {
		in[1] = m.along(in[1], 0, in[2])
	}
	return m.Cast(m.Reshape(m.Do("scatter_add", in, Int1(0)), s), x.DType())
}

// maskedScatter returns x with the elements of source, in order, where mask is true.
func (m *maker) maskedScatter(x, mask, source *tensor.Tensor) *tensor.Tensor {
	if mask.DType() != dtype.Bool {
		m.refuse("mask", Describe(mask), "a bool tensor", "")
	}
	if source.DType() != x.DType() {
		m.refuse("source", Describe(source), fmt.Sprintf("dtype %v", x.DType()), "x is "+Describe(x))
	}
	s, ok := shape.Broadcast(mask.Shape(), x.Shape())
	if !ok {
		m.refuse("mask", Describe(mask), fmt.Sprintf("a shape that broadcasts with %v", x.Shape()), "x is "+Describe(x))
	}
	mask, x = m.Expand(mask, s), m.Expand(x, s)
	if x.Numel() == 0 {
		return m.unary("clone", x)
	}
	flat := m.Reshape(mask, shape.Shape{s.Numel()})
	nth := m.do("cumsum", m.Cast(flat, dtype.Int64), Int1(0))
	m.enough(flat, source)
	// What is false takes a zero that stands before the elements.
	row := m.Reshape(source, shape.Shape{source.Numel()})
	row = m.Do("cat", []*tensor.Tensor{m.Zeros(x.DType(), shape.Shape{1}), row}, Int1(0))
	part := m.do2("index_select", row, m.Where(flat, nth, integer(0)), Int1(0))
	return m.Where(mask, m.Reshape(part, s), x)
}

// enough refuses a source of fewer elements than mask has true ones, where they
// can be counted.
func (m *maker) enough(mask, source *tensor.Tensor) {
	if source.Numel() >= mask.Numel() || mask.Buffer() == nil || mask.Hollow() || mask.Placed() {
		return
	}
	count := 0
	for _, v := range Int64s(mask) {
		count += int(v)
	}
	if count > source.Numel() {
		m.refuse("source", Describe(source), fmt.Sprintf("at least %d elements", count), "as many as mask has true ones")
	}
}
