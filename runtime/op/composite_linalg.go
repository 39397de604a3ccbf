package op

import (
	"fmt"
	"slices"

	"tpsh/internal/units"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var (
	inA      = Param{Name: "a", Kind: Tensor, Doc: "a tensor"}
	inB      = Param{Name: "b", Kind: Tensor, Doc: "a tensor"}
	inC      = Param{Name: "c", Kind: Tensor, Doc: "what is added, broadcast"}
	twoAlone = []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "other", Kind: Tensor, Doc: "a tensor"}}
	addedTo  = []Param{inC, inA, inB, inFloat("beta", "a factor of c", 1), inFloat("alpha", "a factor of the product", 1)}
)

// inComputeMode says in PyTorch whether distances are made of products of matrices.
var inComputeMode = Param{Name: "compute_mode", Kind: OptChoice, Doc: "what it is changes nothing here", Choices: []string{"use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"}, Default: Default(None)}

// A productComposite is a product of tensors of given numbers of dims.
type productComposite struct {
	name    string
	returns string
	example string
	params  []Param
	dims    [2]int // of the factors; 0 for any
	make    func(m *maker) *tensor.Tensor
}

var productComposites = []productComposite{
	{"mm", "mm(x, other) returns the product of matrices.", ">>> mm(tensor([[1, 2]]), tensor([[3], [4]])).tolist()\n[[11]]", called(twoAlone, "other", "mat2"), [2]int{2, 2}, (*maker).product},
	{"bmm", "bmm(x, other) returns the products of matrices [b, m, k] and [b, k, n].", ">>> bmm(ones(2, 1, 3), ones(2, 3, 1)).shape\n(2, 1, 1)", called(twoAlone, "other", "mat2"), [2]int{3, 3}, (*maker).product},
	{"mv", "mv(x, other) returns the product of a matrix and a vector.", ">>> mv(tensor([[1, 2]]), tensor([3, 4])).tolist()\n[11]", called(twoAlone, "other", "vec"), [2]int{2, 1}, (*maker).product},
	{"vdot", "vdot(x, other) returns the sum of products of two vectors.", ">>> vdot(tensor([1, 2]), tensor([3, 4]))\n11", twoAlone, [2]int{1, 1},
		func(m *maker) *tensor.Tensor { return m.binary("dot", m.x(0), m.x(1)) }},
	{"inner", "inner(x, other) returns the sums of products along the last dims.", ">>> inner(tensor([1, 2]), tensor([3, 4]))\n11", twoAlone, [2]int{}, makeInner},
	{"kron", "kron(x, other) returns the Kronecker product.", ">>> kron(tensor([1, 2]), tensor([1, 10])).tolist()\n[1, 10, 2, 20]", twoAlone, [2]int{}, makeKron},
	{"cross", "cross(x, other, dim=-1) returns the cross products of vectors of 3 along dim.", ">>> cross(tensor([1, 0, 0]), tensor([0, 1, 0])).tolist()\n[0, 0, 1]", append(twoAlone[:2:2], inDim("dim", -1)), [2]int{}, makeCross},
	{"cdist", "cdist(x, other, p=2, compute_mode=None) returns the p-norms of the differences of the rows of x [.., m, k] and of other [.., n, k]. They are made of the differences, whatever compute_mode says.", ">>> cdist(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]])).tolist()\n[[5.0]]", append(called(twoAlone, "x", "x1", "other", "x2"), inFloat("p", "which norm", 2), inComputeMode), [2]int{},
		func(m *maker) *tensor.Tensor {
			x, y := m.x(0), m.x(1)
			if len(x.Shape()) < 2 || len(y.Shape()) < 2 {
				m.refuse("other", Describe(y)+" with "+Describe(x), "tensors of at least two dims", "")
			}
			return m.distances(x, y, m.float(0))
		}},
	{"addmv", "addmv(c, a, b, beta=1, alpha=1) returns beta * c + alpha * (a @ b) of a matrix a and a vector b.", ">>> addmv(tensor([1]), tensor([[1, 2]]), tensor([3, 4])).tolist()\n[12]", called(addedTo, "c", "input", "a", "mat", "b", "vec"), [2]int{2, 1}, (*maker).addedProduct},
	{"baddbmm", "baddbmm(c, a, b, beta=1, alpha=1) returns beta * c + alpha * (a @ b) of batches of matrices.", ">>> baddbmm(ones(1, 1, 1), ones(1, 1, 2), ones(1, 2, 1)).tolist()\n[[[3.0]]]", called(addedTo, "c", "input", "a", "batch1", "b", "batch2"), [2]int{3, 3}, (*maker).addedProduct},
	{"addbmm", "addbmm(c, a, b, beta=1, alpha=1) returns beta * c + alpha times the sum of a @ b over batches of matrices.", ">>> addbmm(ones(1, 1), ones(2, 1, 2), ones(2, 2, 1)).tolist()\n[[5.0]]", called(addedTo, "c", "input", "a", "batch1", "b", "batch2"), [2]int{3, 3},
		func(m *maker) *tensor.Tensor {
			return m.plus(m.Sum(m.MatMul(m.x(1), m.x(2)), []int{0}, false))
		}},
	{"addr", "addr(c, a, b, beta=1, alpha=1) returns beta * c + alpha times the outer product of two vectors.", ">>> addr(zeros(1, 2), tensor([2.0]), tensor([3.0, 4.0])).tolist()\n[[6.0, 8.0]]", called(addedTo, "c", "input", "a", "vec1", "b", "vec2"), [2]int{1, 1},
		func(m *maker) *tensor.Tensor { return m.plus(m.binary("outer", m.x(1), m.x(2))) }},
}

func init() {
	for _, e := range productComposites {
		compositeOf(&Def{Name: e.name, Surface: Method | Function, MakeDoc: func() string { return e.returns + "\n" + e.example }, Params: e.params},
			func(m *maker) []*tensor.Tensor {
				m.checkDims(e.dims)
				return one(e.make(m))
			})
	}
	compositeOf(&Def{Name: "tensordot", Surface: Function, Params: []Param{inA, inB, {Name: "dims", Kind: IntOrTwo, Doc: "how many dims, the last of a and the first of b, are summed over; or those of a and those of b", Default: Default(Int1(2))}},
		Doc: "tensordot(a, b, dims=2) returns the sums of products over dims of a and b: the last of a and the first of b, so many, or those of two lists, in pairs.\n" +
			"Where one of a pair has size 1 it meets every element of the other.\n>>> tensordot(ones(2, 3), ones(3, 4), 1).shape\n(2, 4)\n>>> tensordot(ones(2, 3), ones(4, 2), ([0], [1])).shape\n(3, 4)"},
		makeTensordot)
	compositeOf(&Def{Name: "chain_matmul", Surface: Function, Params: []Param{inTensors},
		Doc: "chain_matmul(*tensors) returns the product of matrices, from the left.\n>>> chain_matmul(ones(1, 2), ones(2, 3), ones(3, 1)).tolist()\n[[6.0]]"},
		func(m *maker) []*tensor.Tensor {
			y := m.x(0)
			for _, x := range m.c.In[1:] {
				y = m.MatMul(y, x)
			}
			return one(y)
		})
	compositeOf(&Def{Name: "matrix_power", Surface: Method | Function, Params: []Param{inX, {Name: "n", Kind: Int, Doc: "a non-negative int"}},
		Doc: "matrix_power(x, n) returns the product of n times x, square matrices.\n>>> matrix_power(tensor([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()\n[[1.0, 3.0], [0.0, 1.0]]"},
		func(m *maker) []*tensor.Tensor { return one(m.matrixPower(m.x(0), m.int(0))) })
	compositeOf(&Def{Name: "vander", Surface: Function, Params: []Param{inX, {Name: "n", Kind: OptInt, Doc: "columns; as many as x has elements if None", Default: Default(None)}, {Name: "increasing", Kind: Bool, Doc: "lowest powers first", Default: Default(None)}},
		Doc: "vander(x, n=None, increasing=False) returns the powers of the elements of x in columns.\n>>> vander(tensor([2, 3]), 3).tolist()\n[[4, 2, 1], [9, 3, 1]]"},
		func(m *maker) []*tensor.Tensor {
			n := m.x(0).Numel()
			if a := m.c.Args[0]; a.Set {
				n = a.Int
			}
			powers := m.upTo(n)
			if !m.bool(1) {
				powers = m.do("flip", powers, IntsN(0))
			}
			return one(m.binary("pow", m.column(m.x(0), len(m.x(0).Shape())), powers))
		})
}

// distances returns the p-norms of the differences of the rows of x and of y.
func (m *maker) distances(x, y *tensor.Tensor, p float64) *tensor.Tensor {
	rows, columns := len(x.Shape())-2, len(y.Shape())-2
	all, ok := shape.Broadcast(x.Shape()[:rows], y.Shape()[:columns])
	if dt := x.DType(); p != 1 && p != 2 || !ok || !dt.IsFloat() || y.DType() != dt || x.Shape()[rows+1] != y.Shape()[columns+1] {
		return m.do("norm", m.Sub(m.column(x, rows+1), m.column(y, columns)), Float1(p), IntsN(-1), None)
	}
	n := len(all)
	x, y = m.Expand(x, append(all[:n:n], x.Shape()[rows:]...)), m.Expand(y, append(all[:n:n], y.Shape()[columns:]...))
	return m.do2("distances", x, y, Bool1(p == 1))
}

// checkDims ends the making unless the two last tensors have that many dims.
func (m *maker) checkDims(want [2]int) {
	first := len(m.c.In) - 2
	for i, n := range want {
		if x := m.x(first + i); n > 0 && len(x.Shape()) != n {
			m.refuse(m.c.Def.Params[first+i].Name, Describe(x), "a tensor of "+units.Count(n, "dim"), "")
		}
	}
}

func (m *maker) product() *tensor.Tensor { return m.MatMul(m.x(0), m.x(1)) }

func (m *maker) addedProduct() *tensor.Tensor { return m.plus(m.MatMul(m.x(1), m.x(2))) }

// plus returns beta times the first tensor plus alpha times y. A beta of 0 leaves
// out even what is not finite.
func (m *maker) plus(y *tensor.Tensor) *tensor.Tensor {
	y = m.scaled(y, m.float(1))
	if m.float(0) == 0 {
		return y
	}
	return m.Add(m.scaled(m.x(0), m.float(0)), y)
}

func makeInner(m *maker) *tensor.Tensor {
	x, y := m.x(0), m.x(1)
	if len(x.Shape()) == 0 || len(y.Shape()) == 0 {
		return m.Mul(x, y)
	}
	xs, ys := x.Shape(), y.Shape()
	k := xs[len(xs)-1]
	if ys[len(ys)-1] != k {
		m.refuse("other", Describe(y), fmt.Sprintf("%d as its last size", k), "as x, "+Describe(x)+", has")
	}
	flat := func(t *tensor.Tensor, s shape.Shape) *tensor.Tensor {
		return m.Reshape(t, shape.Shape{s[:len(s)-1].Numel(), k})
	}
	z := m.MatMul(flat(x, xs), m.Transpose(flat(y, ys), 0, 1))
	return m.Reshape(z, slices.Concat(xs[:len(xs)-1], ys[:len(ys)-1]))
}

func makeKron(m *maker) *tensor.Tensor {
	x, y := m.x(0), m.x(1)
	n := max(len(x.Shape()), len(y.Shape()))
	xs, ys := padShape(x.Shape(), n), padShape(y.Shape(), n)
	wideX, wideY, out := shape.Shape{}, shape.Shape{}, shape.Shape{}
	for i := range n {
		wideX, wideY = append(wideX, xs[i], 1), append(wideY, 1, ys[i])
		out = append(out, xs[i]*ys[i])
	}
	x, y = m.Reshape(x, wideX), m.Reshape(y, wideY)
	if n > 1 { // a row of the result is one of x, each element repeated, times one of y, repeated
		last := 2 * (n - 1)
		pair := []int{xs[n-1], ys[n-1]}
		row := func(t *tensor.Tensor) *tensor.Tensor {
			lead := slices.Clone(t.Shape()[:last])
			return m.Reshape(m.Expand(t, slices.Concat(lead, pair)), append(lead, pair[0]*pair[1]))
		}
		x, y = row(x), row(y)
	}
	return m.Reshape(m.Mul(x, y), out)
}

// padShape returns s with sizes of 1 before it, n in all.
func padShape(s shape.Shape, n int) shape.Shape {
	for len(s) < n {
		s = append(shape.Shape{1}, s...)
	}
	return s
}

func makeCross(m *maker) *tensor.Tensor {
	x, y := m.x(0), m.x(1)
	d := m.dim(0, x)
	if sizeAt(x, d) != 3 || len(y.Shape()) != len(x.Shape()) || sizeAt(y, d) != 3 {
		m.refuse("other", Describe(y)+" with "+Describe(x), fmt.Sprintf("3 as the size of dim %d of both", d), "")
	}
	turned := func(t *tensor.Tensor, by int) *tensor.Tensor { return m.do("roll", t, IntsN(by), IntsN(d)) }
	return m.Sub(m.Mul(turned(x, -1), turned(y, -2)), m.Mul(turned(x, -2), turned(y, -1)))
}

func makeTensordot(m *maker) []*tensor.Tensor {
	a, b := m.x(0), m.x(1)
	ad, bd := m.pairedDims(a, b)
	for i := range ad {
		switch n, k := a.Shape()[ad[i]], b.Shape()[bd[i]]; {
		case n == k:
		case n == 1:
			b = m.Sum(b, []int{bd[i]}, true)
		case k == 1:
			a = m.Sum(a, []int{ad[i]}, true)
		default:
			m.refuse("dims", fmt.Sprintf("dims %d and %d of sizes %d and %d", ad[i], bd[i], n, k), "pairs of dims of equal sizes", Describe(m.x(0))+" and "+Describe(m.x(1)))
		}
	}
	rest := func(n int, dims []int) []int {
		return slices.DeleteFunc(firstInts(n), func(d int) bool { return slices.Contains(dims, d) })
	}
	left, right := rest(len(a.Shape()), ad), rest(len(b.Shape()), bd)
	as, bs := shape.Shape(pick(a.Shape(), left)), shape.Shape(pick(b.Shape(), right))
	inner := shape.Shape(pick(a.Shape(), ad)).Numel()
	a = m.Reshape(m.Permute(a, slices.Concat(left, ad)), shape.Shape{as.Numel(), inner})
	b = m.Reshape(m.Permute(b, slices.Concat(bd, right)), shape.Shape{inner, bs.Numel()})
	return one(m.Reshape(m.MatMul(a, b), slices.Concat(as, bs)))
}

// pairedDims returns the dims of a and those of b that tensordot sums over, in pairs.
func (m *maker) pairedDims(a, b *tensor.Tensor) (ad, bd []int) {
	n, k := len(a.Shape()), len(b.Shape())
	if dims := m.c.Args[0]; dims.Ints == nil {
		if dims.Int < 0 || dims.Int > min(n, k) {
			m.refuse("dims", fmt.Sprint(dims.Int), fmt.Sprintf("0..%d", min(n, k)), Describe(a)+" and "+Describe(b))
		}
		return firstInts(n)[n-dims.Int:], firstInts(dims.Int)
	}
	list := m.c.Args[0].Ints
	half := len(list) / 2
	counted := func(x *tensor.Tensor, list []int) []int {
		dims := make([]int, len(list))
		for i, d := range list {
			at, ok := shape.Dim(d, len(x.Shape()))
			if !ok || slices.Contains(dims[:i], at) {
				m.refuse("dims", fmt.Sprint(d), "dims, each once", Describe(x))
			}
			dims[i] = at
		}
		return dims
	}
	return counted(a, list[:half]), counted(b, list[half:])
}

// matrixPower returns the product of n times x, square matrices.
func (m *maker) matrixPower(x *tensor.Tensor, n int) *tensor.Tensor {
	s := x.Shape()
	if len(s) < 2 || s[len(s)-1] != s[len(s)-2] {
		m.refuse("x", Describe(x), "square matrices", "")
	}
	if n < 0 {
		m.refuse("n", fmt.Sprint(n), "a non-negative int", "")
	}
	eye := m.eye(s[len(s)-1], s[len(s)-1], x.DType())
	y := m.Expand(eye, s)
	for first := true; n > 0; n /= 2 {
		if n%2 == 1 {
			if first {
				y, first = x, false
			} else {
				y = m.MatMul(y, x)
			}
		}
		if n > 1 {
			x = m.MatMul(x, x)
		}
	}
	return y
}
