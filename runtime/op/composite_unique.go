package op

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	compositeOf(&Def{Name: "mode", Surface: Method | Function, Params: []Param{inX, inDim("dim", -1), keepdimParam},
		Doc: "mode(x, dim=-1, keepdim=False) returns (values, indices): the most frequent element along dim, the least of several such, and where it is last.\n>>> tensor([3, 1, 3, 1, 3]).mode()[0].item()\n3"},
		func(m *maker) []*tensor.Tensor { return m.mostFrequent() })
	flags := []Param{{Name: "return_inverse", Kind: Bool, Doc: "whether to return where each element of x is among them", Default: Default(None)},
		{Name: "return_counts", Kind: Bool, Doc: "whether to return how often each is there", Default: Default(None)},
		{Name: "dim", Kind: OptDim, Doc: "the dim whose slices are compared, None for all elements", Default: Default(None)}, sizeParam}
	compositeOf(&Def{Name: "unique", Surface: Method | Function,
		Doc: "unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None, size=None) returns the elements of x, each once, in ascending order, or its slices along dim in lexical order: alone, or in a tuple with what else is asked for.\n" +
			"size says how many they are; it is an error if there are others. A plan has to know.\n>>> tensor([3, 1, 3]).unique(return_counts=True)\n([1 3], [1 2])",
		Params: append([]Param{inX, {Name: "sorted", Kind: Bool, Doc: "they are in any case", Default: Default(Bool1(true))}}, flags...)},
		func(m *maker) []*tensor.Tensor { return m.unique(true, m.c.Args[1:]) })
	compositeOf(&Def{Name: "unique_consecutive", Surface: Method | Function,
		Doc: "unique_consecutive(x, return_inverse=False, return_counts=False, dim=None, size=None) returns the first of each run of equal elements of x, or of its slices along dim: alone, or in a tuple with what else is asked for.\n" +
			"size says how many they are; it is an error if there are others. A plan has to know.\n>>> tensor([3, 3, 1, 3]).unique_consecutive().tolist()\n[3, 1, 3]",
		Params: append([]Param{inX}, flags...)},
		func(m *maker) []*tensor.Tensor { return m.unique(false, m.c.Args) })
}

// mostFrequent returns the most frequent elements along a dim: in sorted order,
// where the longest run ends.
func (m *maker) mostFrequent() []*tensor.Tensor {
	x, d := m.x(0), m.dim(0, m.x(0))
	n := sizeAt(x, d)
	if len(x.Shape()) == 0 {
		return []*tensor.Tensor{m.unary("clone", x), m.Do("zeros_like", one(x), Int1(int(dtype.Int64)))}
	}
	if n == 0 {
		m.refuse("x", Describe(x), "at least one element along dim", "")
	}
	sorted := m.all("sort", one(x), Int1(d), Bool1(false), None)
	ends := m.runLengths(sorted[0], d)
	last := m.do("argmax", ends, Int1(d), Bool1(true))
	where := m.do2("gather", sorted[1], last, Int1(d))
	out := []*tensor.Tensor{m.do2("gather", x, where, Int1(d)), where}
	if !m.bool(1) {
		for i := range out {
			out[i] = m.do("squeeze", out[i], IntsN(d))
		}
	}
	return out
}

// runLengths returns, for each element of x along d, the how manieth of equal
// neighbours it is.
func (m *maker) runLengths(x *tensor.Tensor, d int) *tensor.Tensor {
	n := x.Shape()[d]
	at := m.Expand(m.Reshape(m.upTo(n), replaced(make1s(len(x.Shape())), d, n)), x.Shape())
	begin := m.Where(m.begins(x, d), at, integer(0))
	return m.Sub(at, m.all("running_extreme", one(begin), Int1(d), Bool1(false))[0])
}

// begins returns which elements of x differ from the one before along d.
func (m *maker) begins(x *tensor.Tensor, d int) *tensor.Tensor {
	n := x.Shape()[d]
	at := func(from, size int) *tensor.Tensor { return m.do("narrow", x, Int1(d), Int1(from), Int1(size)) }
	first := m.do("ones_like", at(0, min(n, 1)), Int1(int(dtype.Bool)))
	if n < 2 {
		return first
	}
	return m.Do("cat", []*tensor.Tensor{first, m.binary("ne", at(1, n-1), at(0, n-1))}, Int1(d))
}

// unique returns the elements of x, or its slices along a dim, each once or, unsorted, of
// each run, and what else is asked for: flags are return_inverse, return_counts, dim and
// size, the last of the arguments.
func (m *maker) unique(sort bool, flags []Arg) []*tensor.Tensor {
	inverse, counts, size := flags[0].Int != 0, flags[1].Int != 0, flags[3]
	s, d, bySlice := m.x(0).Shape(), 0, flags[2].Set && len(m.x(0).Shape()) > 0
	var x *tensor.Tensor
	if bySlice {
		d = m.dim(len(m.c.Args)-2, m.x(0))
		x, s = m.sliceRanks(m.x(0), d), s[d:d+1]
	} else {
		x = m.do("reshape", m.x(0), IntsN(-1))
	}
	var order *tensor.Tensor
	if sort {
		sorted := m.all("sort", one(x), Int1(0), Bool1(false), None)
		x, order = sorted[0], sorted[1]
	}
	first := m.begins(x, 0)
	out := one(m.do2("masked_select", x, first, size))
	if bySlice {
		if !sort {
			order = m.upTo(x.Numel())
		}
		out[0] = m.Do("index_select", []*tensor.Tensor{m.x(0), m.do2("masked_select", order, first, size)}, Int1(d))
	}
	if !inverse && !counts {
		return out
	}
	number := m.Sub(m.do("cumsum", m.Cast(first, dtype.Int64), Int1(0)), integer(1))
	if inverse {
		to := number
		if sort {
			zeros := m.Do("zeros_like", one(number), None)
			to = m.Do("index_copy", []*tensor.Tensor{zeros, order, number}, Int1(0))
		}
		out = append(out, m.Reshape(to, s))
	}
	if counts {
		zeros := m.Do("zeros_like", one(m.do2("masked_select", x, first, size)), Int1(int(dtype.Int64)))
		out = append(out, m.Do("scatter_add", []*tensor.Tensor{zeros, number, m.Do("ones_like", one(number), None)}, Int1(0)))
	}
	return out
}

// sliceRanks returns, for each slice of x along d, a number [n] that is equal for equal
// slices, and less for one that comes before in lexical order: ranks of elements are
// joined in pairs.
func (m *maker) sliceRanks(x *tensor.Tensor, d int) *tensor.Tensor {
	n := sizeAt(x, d)
	if n > 0 && x.Numel() == 0 {
		m.refuse("x", Describe(x), fmt.Sprintf("slices along dim %d that have elements", d), "")
	}
	if n == 0 {
		return m.Zeros(dtype.Int64, shape.Shape{0})
	}
	x = m.do("movedim", x.Detach(), IntsN(d), IntsN(0))
	x = m.do("reshape", x, IntsN(n, -1))
	ranks := m.ranksOf(x)
	for ranks.Shape()[1] > 1 {
		pairs := ranks.Shape()[1] / 2
		pair := m.do("reshape", m.Narrow(ranks, 1, 0, 2*pairs), IntsN(n, pairs, 2))
		half := func(i int) *tensor.Tensor { return m.do("select", pair, Int1(2), Int1(i)) }
		joined := m.Add(m.Mul(half(0), integer(n)), half(1))
		if ranks.Shape()[1]%2 == 1 {
			joined = m.Do("cat", []*tensor.Tensor{joined, m.Narrow(ranks, 1, 2*pairs, 1)}, Int1(1))
		}
		ranks = m.ranksOf(joined)
	}
	return m.do("select", ranks, Int1(1), Int1(0))
}

// ranksOf returns which of the distinct elements of its column each of x [n, k] is, in
// ascending order.
func (m *maker) ranksOf(x *tensor.Tensor) *tensor.Tensor {
	sorted := m.all("sort", one(x), Int1(0), Bool1(false), None)
	number := m.Sub(m.do("cumsum", m.Cast(m.begins(sorted[0], 0), dtype.Int64), Int1(0)), integer(1))
	return m.Do("scatter", []*tensor.Tensor{m.Do("zeros_like", one(number), None), sorted[1], number}, Int1(0))
}
