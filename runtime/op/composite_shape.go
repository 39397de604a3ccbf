package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var asParams = []Param{inX, {Name: "other", Kind: Tensor, Doc: "a tensor"}}

// A shapeComposite makes one tensor of others by moving elements.
type shapeComposite struct {
	name    string
	aliases []string
	surface Surface
	doc     string
	params  []Param
	make    func(m *maker) *tensor.Tensor
}

var shapeComposites = []shapeComposite{
	{"t", nil, Method, "t(x) returns x, of two dims at most, transposed.\n>>> tensor([[1, 2]]).t().tolist()\n[[1], [2]]", xAlone, func(m *maker) *tensor.Tensor {
		switch n := len(m.x(0).Shape()); {
		case n > 2:
			m.refuse("x", Describe(m.x(0)), "a tensor of two dims at most", ".mT transposes the last two")
		case n < 2:
			return m.x(0)
		}
		return m.Transpose(m.x(0), 0, 1)
	}},
	{"mT", nil, Internal, "mT(x) returns x with its last two dims exchanged. Scripts write x.mT.", xAlone, func(m *maker) *tensor.Tensor {
		if len(m.x(0).Shape()) < 2 {
			m.refuse("x", Describe(m.x(0)), "a tensor of at least two dims", "")
		}
		return m.Transpose(m.x(0), -2, -1)
	}},
	{"swapaxes", []string{"swapdims"}, Method | Function, "swapaxes(x, dim0, dim1) returns x with two dims exchanged.\n>>> tensor([[1, 2]]).swapaxes(0, 1).tolist()\n[[1], [2]]",
		[]Param{inX, {Name: "dim0", Kind: Dim, Doc: "a dim"}, {Name: "dim1", Kind: Dim, Doc: "another"}},
		func(m *maker) *tensor.Tensor { return m.do("transpose", m.x(0), m.c.Args...) }},
	{"movedim", []string{"moveaxis"}, Method | Function, "movedim(x, source, destination) returns x with dims moved to other places.\n>>> zeros(2, 3, 4).movedim(0, 2).shape\n(3, 4, 2)",
		[]Param{inX, {Name: "source", Kind: IntOrSeq, Doc: "a dim, or a list"}, {Name: "destination", Kind: IntOrSeq, Doc: "where it goes, or a list"}}, makeMovedim},
	{"ravel", nil, Method | Function, "ravel(x) returns x as a row.\n>>> tensor([[1], [2]]).ravel().tolist()\n[1, 2]", xAlone,
		func(m *maker) *tensor.Tensor { return m.do("flatten", m.x(0), Int1(0), Int1(-1)) }},
	{"view_as", []string{"reshape_as"}, Method, "view_as(x, other) returns x in the shape of other.\n>>> arange(4).view_as(zeros(2, 2)).tolist()\n[[0, 1], [2, 3]]", asParams,
		func(m *maker) *tensor.Tensor { return m.Reshape(m.x(0), m.x(1).Shape()) }},
	{"expand_as", nil, Method, "expand_as(x, other) returns x broadcast to the shape of other.\n>>> tensor([1]).expand_as(zeros(3)).tolist()\n[1, 1, 1]", asParams,
		func(m *maker) *tensor.Tensor { return m.Expand(m.x(0), m.x(1).Shape()) }},
	{"broadcast_to", nil, Method | Function, "broadcast_to(x, shape) returns x broadcast to a shape.\n>>> tensor([1]).broadcast_to(3).tolist()\n[1, 1, 1]",
		[]Param{inX, {Name: "shape", Kind: Sizes, Doc: "a shape"}},
		func(m *maker) *tensor.Tensor { return m.do("expand", m.x(0), m.c.Args[0]) }},
	{"unflatten", nil, Method | Function, "unflatten(x, dim, sizes) returns x with a dim in several.\n>>> arange(6).unflatten(0, [2, 3]).tolist()\n[[0, 1, 2], [3, 4, 5]]",
		[]Param{inX, {Name: "dim", Kind: Dim, Doc: "a dim"}, {Name: "sizes", Kind: Sizes, Doc: "the sizes, of which one may be -1"}}, makeUnflatten},
	{"fliplr", nil, Method | Function, "fliplr(x) returns x with its second dim turned round.\n>>> tensor([[1, 2]]).fliplr().tolist()\n[[2, 1]]", xAlone,
		func(m *maker) *tensor.Tensor { return m.do("flip", m.x(0), IntsN(1)) }},
	{"flipud", nil, Method | Function, "flipud(x) returns x with its first dim turned round.\n>>> tensor([1, 2]).flipud().tolist()\n[2, 1]", xAlone,
		func(m *maker) *tensor.Tensor { return m.do("flip", m.x(0), IntsN(0)) }},
	{"rot90", nil, Method | Function, "rot90(x, k=1, dims=[0, 1]) returns x turned k times by 90 degrees, from the first of dims to the second.\n>>> tensor([[1, 2], [3, 4]]).rot90().tolist()\n[[2, 4], [1, 3]]",
		[]Param{inX, inInt("k", "how often", 1), {Name: "dims", Kind: Ints, Doc: "two dims", Default: Default(IntsN(0, 1))}}, makeRot90},
	{"tile", nil, Method | Function, "tile(x, dims) returns x repeated along its dims, the last ones if there are fewer numbers.\n>>> tensor([1, 2]).tile(2).tolist()\n[1, 2, 1, 2]",
		[]Param{inX, {Name: "dims", Kind: Ints, Doc: "how often along each dim"}},
		func(m *maker) *tensor.Tensor {
			times := m.c.Args[0].Ints
			for len(times) < len(m.x(0).Shape()) {
				times = append([]int{1}, times...)
			}
			return m.do("repeat", m.x(0), IntsN(times...))
		}},
	{"repeat_interleave", nil, Method | Function, "repeat_interleave(x, repeats, dim=None, output_size=None) returns x with each element along dim, or each of all in a row, repeated: all as often, or each as a list or a tensor of integers says. output_size, if given, is how many there are then.\n>>> tensor([1, 2]).repeat_interleave(2).tolist()\n[1, 1, 2, 2]",
		[]Param{inX, {Name: "repeats", Kind: IntOrSeq, Doc: "how often, or how often each"}, oneDim, {Name: "output_size", Kind: OptInt, Doc: "how many there are along dim then", Default: Default(None)}}, makeRepeatInterleave},
	{"diagonal", nil, Method | Function, "diagonal(x, offset=0, dim1=0, dim2=1) returns the diagonal of two dims as a last dim, offset columns to the right.\nIt shares the storage of a plain x; of a DTensor it is a copy, in which nothing can be stored.\n>>> tensor([[1, 2], [3, 4]]).diagonal().tolist()\n[1, 4]",
		[]Param{inX, inInt("offset", "how far to the right", 0), inDim("dim1", 0), inDim("dim2", 1)},
		func(m *maker) *tensor.Tensor {
			return m.diagonal(m.x(0), m.int(0), m.dim(1, m.x(0)), m.dim(2, m.x(0)))
		}},
	{"diag", nil, Method | Function, "diag(x, diagonal=0) returns the diagonal of a matrix, or the matrix with x on that diagonal.\n>>> tensor([1, 2]).diag().tolist()\n[[1, 0], [0, 2]]",
		[]Param{inX, inInt("diagonal", "how far to the right", 0)},
		func(m *maker) *tensor.Tensor {
			switch len(m.x(0).Shape()) {
			case 1:
				return m.onDiagonal(m.x(0), m.int(0))
			case 2:
				return m.diagonal(m.x(0), m.int(0), 0, 1)
			}
			m.refuse("x", Describe(m.x(0)), "a tensor of one or two dims", "")
			return nil
		}},
	{"diag_embed", nil, Method | Function, "diag_embed(x, offset=0, dim1=-2, dim2=-1) returns matrices with the rows of x on a diagonal; their rows are dim dim1 and their columns dim2.\n>>> tensor([[1, 2]]).diag_embed().tolist()\n[[[1, 0], [0, 2]]]",
		[]Param{inX, inInt("offset", "how far to the right", 0), inDim("dim1", -2), inDim("dim2", -1)}, makeDiagEmbed},
	{"diagflat", nil, Method | Function, "diagflat(x, offset=0) returns the matrix with all elements of x on a diagonal.\n>>> tensor([[1], [2]]).diagflat().tolist()\n[[1, 0], [0, 2]]",
		[]Param{inX, inInt("offset", "how far to the right", 0)},
		func(m *maker) *tensor.Tensor {
			return m.onDiagonal(m.do("flatten", m.x(0), Int1(0), Int1(-1)), m.int(0))
		}},
	{"trace", nil, Method | Function, "trace(x) returns the sum of the diagonal of a matrix.\n>>> tensor([[1, 2], [3, 4]]).trace()\n5", xAlone,
		func(m *maker) *tensor.Tensor {
			if len(m.x(0).Shape()) != 2 {
				m.refuse("x", Describe(m.x(0)), "a tensor of two dims", "")
			}
			return m.Sum(m.diagonal(m.x(0), 0, 0, 1), []int{0}, false)
		}},
	{"take", nil, Method | Function, "take(x, index) returns the elements of x, as a row, at an index tensor.\n>>> tensor([[1, 2], [3, 4]]).take(tensor([3, 0])).tolist()\n[4, 1]",
		[]Param{inX, {Name: "index", Kind: Tensor, Doc: "an integer tensor"}},
		func(m *maker) *tensor.Tensor {
			index := m.x(1)
			y := m.do2("index_select", m.do("flatten", m.x(0), Int1(0), Int1(-1)), m.do("flatten", index, Int1(0), Int1(-1)), Int1(0))
			return m.Reshape(y, index.Shape())
		}},
	{"take_along_dim", nil, Method | Function, "take_along_dim(x, indices, dim=None) returns the elements of x at indices along dim, with the other dims broadcast; without dim both are taken as rows.\n>>> tensor([[3, 1], [2, 4]]).take_along_dim(tensor([[1], [0]]), 1).tolist()\n[[1], [2]]",
		[]Param{inX, {Name: "indices", Kind: Tensor, Doc: "an integer tensor"}, {Name: "dim", Kind: OptDim, Doc: "a dim, or None", Default: Default(None)}}, makeTakeAlongDim},
	{"index_add", nil, Method | Function, "index_add(x, dim, index, src, alpha=1) returns x with alpha times slices of src along dim added at index.\n>>> zeros(3).index_add(0, tensor([0, 0]), tensor([1.0, 2.0])).tolist()\n[3.0, 0.0, 0.0]",
		[]Param{inX, {Name: "dim", Kind: Dim, Doc: "a dim"}, {Name: "index", Kind: Tensor, Doc: "an integer tensor [n]"}, {Name: "src", Kind: Tensor, Doc: "a tensor with n slices along dim"}, inFloat("alpha", "a factor", 1)},
		func(m *maker) *tensor.Tensor {
			d, src := m.dim(0, m.x(0)), m.x(2)
			return m.Do("scatter_add", []*tensor.Tensor{m.x(0), m.along(m.x(1), d, src), m.scaled(src, m.float(1))}, Int1(d))
		}},
	{"index_fill", nil, Method | Function, "index_fill(x, dim, index, value) returns x with value in the slices along dim at index.\n>>> zeros(3).index_fill(0, tensor([1]), 5).tolist()\n[0.0, 5.0, 0.0]",
		[]Param{inX, {Name: "dim", Kind: Dim, Doc: "a dim"}, {Name: "index", Kind: Tensor, Doc: "an integer tensor [n]"}, {Name: "value", Kind: Operand, Doc: "a number"}},
		func(m *maker) *tensor.Tensor {
			x, d := m.x(0), m.dim(0, m.x(0))
			at := m.Cast(m.Do("one_hot", one(m.x(1)), Int1(sizeAt(x, d))), dtype.Int64)
			hit := m.truth(m.Sum(at, []int{0}, false))
			hit = m.Reshape(hit, replaced(make1s(len(x.Shape())), d, x.Shape()[d]))
			return m.Do("masked_fill", []*tensor.Tensor{x, hit, m.x(2)})
		}},
	{"unfold", nil, Method, "unfold(x, dimension, size, step) returns the windows of a size along a dim, step apart, as a last dim.\nIt shares the storage of a plain x unless windows overlap; else it is a copy, in which nothing can be stored.\n>>> arange(4).unfold(0, 2, 1).tolist()\n[[0, 1], [1, 2], [2, 3]]",
		[]Param{inX, {Name: "dimension", Kind: Dim, Doc: "a dim"}, {Name: "size", Kind: Int, Doc: "of a window"}, {Name: "step", Kind: Int, Doc: "between windows"}}, makeUnfold},
	{"block_diag", nil, Function, "block_diag(*tensors) returns a matrix with matrices along its diagonal.\n>>> block_diag(tensor([[1]]), tensor([[2, 3]])).tolist()\n[[1, 0, 0], [0, 2, 3]]", []Param{inTensors}, makeBlockDiag},
	{"hstack", nil, Function, "hstack(tensors) returns tensors joined along their second dim, or their only one.\n>>> hstack([tensor([1]), tensor([2])]).tolist()\n[1, 2]", []Param{inTensors},
		func(m *maker) *tensor.Tensor { return m.joined(1, min(1, m.leastDims()-1)) }},
	{"vstack", []string{"row_stack"}, Function, "vstack(tensors) returns tensors joined as rows.\n>>> vstack([tensor([1]), tensor([2])]).tolist()\n[[1], [2]]", []Param{inTensors},
		func(m *maker) *tensor.Tensor { return m.joined(2, 0) }},
	{"dstack", nil, Function, "dstack(tensors) returns tensors joined along their third dim.\n>>> dstack([tensor([1]), tensor([2])]).tolist()\n[[[1, 2]]]", []Param{inTensors},
		func(m *maker) *tensor.Tensor { return m.joined(3, 2) }},
	{"column_stack", nil, Function, "column_stack(tensors) returns tensors joined as columns.\n>>> column_stack([tensor([1, 2]), tensor([3, 4])]).tolist()\n[[1, 3], [2, 4]]", []Param{inTensors},
		func(m *maker) *tensor.Tensor {
			list := slices.Clone(m.c.In)
			for i, x := range list {
				if len(x.Shape()) < 2 {
					list[i] = m.Reshape(x, shape.Shape{x.Numel(), 1})
				}
			}
			return m.Do("cat", list, Int1(1))
		}},
}

func init() {
	for _, e := range shapeComposites {
		compositeOf(&Def{Name: e.name, Aliases: e.aliases, Surface: e.surface, Doc: e.doc, Params: e.params},
			func(m *maker) []*tensor.Tensor { return one(e.make(m)) })
	}
	compositeOf(&Def{Name: "unbind", Surface: Method | Function, List: true, Params: []Param{inX, inDim("dim", 0)},
		Doc: "unbind(x, dim=0) returns the slices of x along dim, in a list.\n>>> [y.tolist() for y in tensor([[1, 2], [3, 4]]).unbind()]\n[[1, 2], [3, 4]]"},
		func(m *maker) []*tensor.Tensor {
			if len(m.x(0).Shape()) == 0 {
				m.refuse("x", Describe(m.x(0)), "a tensor of at least one dim", "")
			}
			d := m.dim(0, m.x(0))
			if n := m.x(0).Shape()[d]; n > maxParts {
				m.refuse("x", Describe(m.x(0)), fmt.Sprintf("at most %d along dim %d", maxParts, d), "a tensor each")
			}
			out := make([]*tensor.Tensor, m.x(0).Shape()[d])
			for i := range out {
				out[i] = m.do("select", m.x(0), Int1(d), Int1(i))
			}
			return out
		})
	compositeOf(&Def{Name: "tensor_split", Surface: Method | Function, List: true, Params: []Param{inX, {Name: "indices_or_sections", Kind: IntOrSeq, Doc: "how many parts, or where to cut"}, inDim("dim", 0)},
		Doc: "tensor_split(x, indices_or_sections, dim=0) returns parts of x along dim: as equal as can be, the first ones longer, or cut at indices, which are a list or a tensor.\n>>> [y.tolist() for y in arange(5).tensor_split(2)]\n[[0, 1, 2], [3, 4]]"},
		makeTensorSplit)
	compositeOf(&Def{Name: "meshgrid", Surface: Function, List: true, Params: []Param{{Name: "tensors", Kind: Tensors, Doc: "a list of tensors [n]"},
		{Name: "indexing", Kind: Choice, Doc: "whether the first two dims are those of the first two tensors, ij, or of the second and the first, xy", Default: Default(Str1("ij")), Choices: []string{"ij", "xy"}}},
		Doc: "meshgrid(*tensors, indexing=\"ij\") returns each tensor along a dim of its own, broadcast over the others.\n>>> [g.tolist() for g in meshgrid(tensor([1, 2]), tensor([3]))]\n[[[1], [2]], [[3], [3]]]"},
		func(m *maker) []*tensor.Tensor {
			list := m.grid()
			for i, g := range list {
				if m.c.Args[0].Str == "xy" && len(list) > 1 {
					list[i] = m.Transpose(g, 0, 1)
				}
			}
			return list
		})
	compositeOf(&Def{Name: "cartesian_prod", Surface: Function, Params: []Param{{Name: "tensors", Kind: Tensors, Doc: "a list of tensors [n]"}},
		Doc: "cartesian_prod(*tensors) returns a row for each choice of an element from each tensor.\n>>> cartesian_prod(tensor([1, 2]), tensor([3, 4])).tolist()\n[[1, 3], [1, 4], [2, 3], [2, 4]]"},
		func(m *maker) []*tensor.Tensor {
			list := m.grid()
			for i, g := range list {
				list[i] = m.do("flatten", g, Int1(0), Int1(-1))
			}
			if len(list) == 1 {
				return list
			}
			return one(m.Do("stack", list, Int1(1)))
		})
	compositeOf(&Def{Name: "combinations", Surface: Function,
		Doc:    "combinations(x, r=2, with_replacement=False) returns the choices of r elements of x [n] in their order, as rows.\n>>> combinations(tensor([1, 2, 3])).tolist()\n[[1, 2], [1, 3], [2, 3]]",
		Params: []Param{inX, inInt("r", "how many", 2), {Name: "with_replacement", Kind: Bool, Doc: "whether an element may come several times", Default: Default(None)}}},
		func(m *maker) []*tensor.Tensor { return one(m.choices()) })
	for k, name := range []string{"atleast_1d", "atleast_2d", "atleast_3d"} {
		compositeOf(&Def{Name: name, Surface: Function, Params: []Param{inTensors},
			MakeDoc: func() string {
				return fmt.Sprintf("%s(*tensors) returns a tensor, or each of several in a tuple, with as many dims of size 1 put around it as %d dims need.\n>>> %s(tensor(1)).ndim\n%d\n>>> [x.ndim for x in %s(tensor(1), ones(1, 1, 1))]\n[%d, 3]", name, k+1, name, k+1, name, k+1)
			}},
			func(m *maker) []*tensor.Tensor {
				out := make([]*tensor.Tensor, len(m.c.In))
				for i, x := range m.c.In {
					out[i] = m.atLeast(x, k+1)
				}
				return out
			})
	}
	for _, upper := range []bool{false, true} {
		name, which := "tril_indices", "lower"
		if upper {
			name, which = "triu_indices", "upper"
		}
		compositeOf(&Def{Name: name, Surface: Function, Params: []Param{{Name: "row", Kind: Int, Doc: "rows"}, {Name: "col", Kind: Int, Doc: "columns"}, inInt("offset", "how far to the right the diagonal is", 0)},
			Doc: name + "(row, col, offset=0) returns the rows and the columns of a matrix's " + which + " triangle.\n>>> " + name + "(2, 2).tolist()\n" + map[bool]string{false: "[[0, 1, 1], [0, 0, 1]]", true: "[[0, 0, 1], [0, 1, 1]]"}[upper]},
			func(m *maker) []*tensor.Tensor {
				ones := m.Do("ones", nil, IntsN(m.int(0), m.int(1)), Int1(int(dtype.Int64)))
				return one(m.Transpose(m.do("nonzero", m.do(name[:4], ones, m.c.Args[2]), None), 0, 1))
			})
	}
}
