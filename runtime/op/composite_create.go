package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Tensors of numbers, of random numbers and of places, and tensors made alike.
var createComposites = []namedComposite{
	{"fill", Function, "fill(x, value) returns a tensor like x, all of whose elements are value.\n>>> fill(zeros(2), 3).tolist()\n[3.0, 3.0]", []Param{inX, {Name: "value", Kind: Operand, Doc: "a number, or a tensor of one element"}},
		func(m *maker) []*tensor.Tensor {
			x, v := m.x(0), m.x(1)
			if v.Numel() != 1 {
				m.refuse("value", Describe(v), "a number, or a tensor of one element", "")
			}
			m.check(m.c.checkNumber("value", v, x.DType()))
			if !v.Weak() {
				v = m.Cast(m.Reshape(v, nil), x.DType())
			}
			return one(m.Cast(m.Where(m.do("zeros_like", x, Int1(int(dtype.Bool))), x, v), x.DType()))
		}},
	{"randint_like", Function, "randint_like(x, low, high=None, dtype=None) returns random integers, uniform from low to high - 1, in the shape of x; with one number, from 0 to it.\n>>> randint_like(zeros(2), 1).tolist()\n[0.0, 0.0]",
		[]Param{inX, {Name: "low", Kind: OptInt, Doc: "the least, None for 0; or if it is the only one, one more than the greatest", Default: Default(None)}, {Name: "high", Kind: OptInt, Doc: "one more than the greatest", Default: Default(None)}, {Name: "dtype", Kind: OptDType, Doc: "a dtype, None for that of x", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			x, low, high := m.x(0), m.c.Args[0], m.c.Args[1]
			if !high.Set {
				low, high = None, low
			}
			if !high.Set {
				m.refuse("high", "nothing", "an int", "")
			}
			if !low.Set {
				low = Int1(0)
			}
			dt := Int1(int(m.c.dtypeArg(2, x.DType())))
			y := m.Do("randint", nil, low, high, IntsN(x.Shape()...), dt)
			if !x.Placed() {
				return one(y)
			}
			return one(m.Cast(m.Add(m.do("zeros_like", x, dt), y), y.DType()))
		}},
	{"randint_below", Internal, "randint_below(high, shape, dtype=int64) returns randint(0, high, shape, dtype). Scripts write randint(high, shape).", []Param{{Name: "high", Kind: Int, Doc: "one more than the largest"}, {Name: "shape", Kind: Ints, Doc: "the sizes"}, {Name: "dtype", Kind: DType, Doc: "a dtype that holds all of them", Default: Default(Int1(int(dtype.Int64)))}},
		func(m *maker) []*tensor.Tensor {
			return one(m.Do("randint", nil, append([]Arg{Int1(0)}, m.c.Args...)...))
		}},
	{"normal", Function, "normal(mean, std=1.0, size=None, dtype=None) returns random numbers, normal of the means and the standard deviations, which are tensors that broadcast with each other or numbers; of numbers alone as many as size says, of a float dtype. It is one draw. Gradients reach mean and std.\n>>> normal(tensor([1.0, 2.0]), 0).tolist()\n[1.0, 2.0]",
		[]Param{{Name: "mean", Kind: Operand, Doc: "a tensor or a number"}, {Name: "std", Kind: OptOperand, Doc: "a tensor or a number, None for 1", Default: Default(None)}, {Name: "size", Kind: Dims, Doc: "the shape, None for that of the tensors", Default: Default(None)}, {Name: "dtype", Kind: OptDType, Doc: "a float dtype of what numbers give; None for the default", Default: Default(None)}}, (*maker).normals},
	{"logspace", Function, "logspace(start, end, steps, base=10.0, dtype=None) returns base to the powers that linspace(start, end, steps) has.\n>>> logspace(0, 2, 3).tolist()\n[1.0, 10.0, 100.0]",
		[]Param{{Name: "start", Kind: Float, Doc: "the first power"}, {Name: "end", Kind: Float, Doc: "the last power"}, {Name: "steps", Kind: Int, Doc: "how many"}, inFloat("base", "the base", 10), {Name: "dtype", Kind: OptDType, Doc: "a dtype, None for the default float", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			powers := m.Do("linspace", nil, m.c.Args[0], m.c.Args[1], m.c.Args[2], Int1(int(dtype.Float64)))
			return one(m.Cast(m.binary("pow", number(m.float(3)), powers), m.c.dtypeArg(4, m.c.Ctx.Float)))
		}},
	{"nonzero_static", bothSides, "nonzero_static(x, size, fill_value=-1) returns the indices of the first size elements of x that are not 0, as rows, and for what lacks rows of fill_value.\n>>> tensor([0, 5, 7]).nonzero_static(3).tolist()\n[[1], [2], [-1]]",
		[]Param{inX, {Name: "size", Kind: Int, Doc: "how many rows"}, inInt("fill_value", "what stands for no index", -1)}, (*maker).firstPlaces},
	{"constant_pad_nd", Function, "constant_pad_nd(x, pad, value=0.0) returns F.pad(x, pad, \"constant\", value).\n>>> constant_pad_nd(ones(1), [1, 1]).tolist()\n[0.0, 1.0, 0.0]",
		[]Param{inX, {Name: "pad", Kind: Ints, Doc: "how many elements before and after each dim, the last dim first"}, inFloat("value", "what is put there", 0)},
		func(m *maker) []*tensor.Tensor {
			return one(m.do("pad", m.x(0), m.c.Args[0], Str1("constant"), m.c.Args[1]))
		}},
	{"_chunk_cat", Function, "_chunk_cat(tensors, dim, num_chunks) returns each tensor in num_chunks equal parts along dim, filled up with zeros, each part in a row, and these rows joined.\nThe sizes before dim are alike: [a, .., dim, ..] gives [a, .., num_chunks, n].\n>>> _chunk_cat([ones(3), ones(2)], 0, 2).tolist()\n[[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]",
		[]Param{{Name: "tensors", Kind: Tensors, Doc: "a list of tensors"}, {Name: "dim", Kind: Dim, Doc: "a dim of the first, which all of them have"}, {Name: "num_chunks", Kind: Int, Doc: "how many parts"}}, (*maker).chunksJoined},
}

// createLists return lists.
var createLists = []namedComposite{
	{"broadcast_tensors", Function, "broadcast_tensors(*tensors) returns the tensors, broadcast to one shape, in a list.\n>>> [y.tolist() for y in broadcast_tensors(tensor([1]), tensor([2, 3]))]\n[[1, 1], [2, 3]]", []Param{inTensors},
		func(m *maker) []*tensor.Tensor {
			s := shape.Shape{}
			for _, x := range m.c.In {
				to, ok := shape.Broadcast(s, x.Shape())
				if !ok {
					m.refuse("tensors", Describe(x), "shapes that broadcast with each other", "the others give "+s.String())
				}
				s = to
			}
			out := make([]*tensor.Tensor, len(m.c.In))
			for i, x := range m.c.In {
				out[i] = m.Expand(x, s)
			}
			return out
		}},
	{"unravel_index", Function, "unravel_index(indices, shape) returns where in a tensor of a shape the elements lie that indices, which count them in row-major order, name: a tensor for each dim.\n>>> [y.tolist() for y in unravel_index(tensor([5]), [2, 3])]\n[[1], [2]]",
		[]Param{{Name: "indices", Kind: Tensor, Doc: "an integer tensor"}, {Name: "shape", Kind: Ints, Doc: "sizes"}},
		func(m *maker) []*tensor.Tensor {
			index, s := m.x(0), m.c.Args[0].Ints
			m.check(m.c.checkInts("indices", index))
			if len(s) == 0 || slices.Min(s) < 1 {
				m.refuse("shape", listText(s), "at least one positive size", "")
			}
			return m.unraveled(index, s)
		}},
}

func init() {
	for _, e := range createComposites {
		compositeOf(&Def{Name: e.name, Surface: e.surface, Doc: e.doc, Params: e.params, Creates: e.name == "logspace" || e.name == "normal" || e.name == "randint_below"}, e.make)
	}
	for _, e := range createLists {
		compositeOf(&Def{Name: e.name, Surface: e.surface, Doc: e.doc, Params: e.params, List: true}, e.make)
	}
}

// unraveled returns, for each dim of s, where places in row-major order lie.
func (m *maker) unraveled(index *tensor.Tensor, s shape.Shape) []*tensor.Tensor {
	out, after := make([]*tensor.Tensor, len(s)), s.Strides()
	for d, n := range s {
		at := index
		if after[d] != 1 {
			at = m.binary("floordiv", at, integer(max(after[d], 1)))
		}
		out[d] = m.binary("mod", at, integer(max(n, 1)))
	}
	return out
}

func (m *maker) normals() []*tensor.Tensor {
	mean, std, size := m.x(0), m.x(1), m.c.Args[0]
	if std == nil {
		std = number(1)
	}
	if size.Set {
		if !mean.Weak() || !std.Weak() {
			m.refuse("size", listText(size.Ints), "None", "tensors have a shape")
		}
		y := m.Do("randn", nil, IntsN(size.Ints...), m.c.Args[1])
		return one(m.Add(m.Mul(y, std), mean))
	}
	if mean.Weak() && std.Weak() {
		m.refuse("size", "None", "a shape", "numbers have none")
	}
	if a := m.c.Args[1]; a.Set {
		m.refuse("dtype", dtype.DType(a.Int).String(), "None", "tensors have a dtype")
	}
	sum := m.do("zeros_like", m.Add(m.floats(mean), std), None)
	return one(m.Add(m.Mul(m.do("randn_like", sum, None), std), mean))
}

// firstPlaces writes the indices of each dim where counting the elements that are not 0
// puts them; all that is too much goes to one place behind.
func (m *maker) firstPlaces() []*tensor.Tensor {
	x, size, fill := m.x(0), m.int(0), m.int(1)
	if size < 0 || size > 1<<40 {
		m.refuse("size", fmt.Sprint(size), "a non-negative int", "")
	}
	hit := m.truth(m.do("flatten", x, Int1(0), Int1(-1)))
	place := m.do("cumsum", m.Cast(hit, dtype.Int64), Int1(0))
	place = m.Where(m.and(hit, m.binary("le", place, integer(size))), m.Sub(place, integer(1)), integer(size))
	rows := make([]*tensor.Tensor, 0, len(x.Shape()))
	for _, at := range m.unraveled(m.upTo(x.Numel()), x.Shape()) {
		none := m.full(integer(fill), dtype.Int64, size+1)
		rows = append(rows, m.do("narrow", m.scattered(none, place, at, 0), Int1(0), Int1(0), Int1(size)))
	}
	if len(rows) == 0 {
		return one(m.Zeros(dtype.Int64, shape.Shape{size, 0}))
	}
	return one(m.Do("stack", rows, Int1(1)))
}

func (m *maker) chunksJoined() []*tensor.Tensor {
	if len(m.c.In) == 0 {
		m.refuse("tensors", "an empty list", "at least one tensor", "")
	}
	d, n := m.dim(0, m.x(0)), m.int(1)
	if n < 1 || n > 1<<20 {
		m.refuse("num_chunks", fmt.Sprint(n), "a positive int", "")
	}
	rows := make([]*tensor.Tensor, len(m.c.In))
	for i, x := range m.c.In {
		s := x.Shape()
		if d >= len(s) {
			m.refuse("dim", fmt.Sprint(d), fmt.Sprintf("a dim of %v", s), "")
		}
		if lead := m.c.In[0].Shape(); !slices.Equal(s[:d], lead[:d]) {
			m.refuse("tensors", Describe(x), fmt.Sprintf("the sizes %v before dim %d", lead[:d], d), "")
		}
		if lack := (n - s[d]%n) % n; lack > 0 {
			x = m.do("pad", x, IntsN(append(make([]int, 2*(len(s)-1-d)), 0, lack)...), Str1("constant"), Float1(0))
		}
		rows[i] = m.Reshape(x, append(slices.Clone(s[:d]), n, x.Numel()/max(shape.Shape(s[:d]).Numel()*n, 1)))
	}
	return one(m.Do("cat", rows, Int1(d+1)))
}
