package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/lapack"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A decomposition is an operator on batches of matrices [.., m, n], computed in
// float64, one matrix at a time. A batch may be cut along its leading dims; a matrix
// that is cut is gathered.
type decomposition struct {
	name   string
	doc    string
	params []Param // the first is the matrices; a second tensor is a matrix for each
	square bool

	columns bool   // the columns of the result are those of the second input, each by itself
	refuse  string // what a matrix without one is

	// results returns the shapes of the results of one matrix.
	results func(m, n int, c *Call) []shape.Shape
	run     func(out, in [][]float64, m, n int, c *Call) bool
	grad    func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor

	// flops returns the operations of one matrix, as Golub and Van Loan count them.
	flops func(m, n int, c *Call) int

	byBlock func(t *Tape, c *Call) []*tensor.Tensor // of one matrix whose rows are cut, or nil
}

func (d *decomposition) def() *Def {
	return &Def{Name: d.name, Surface: Internal, Doc: d.doc, Params: d.params, Infer: d.infer, Run: d.runAll, Grad: d.grad, Shard: d.rows, Compose: d.byBlock, Cost: d.cost}
}

func (d *decomposition) cost(c *Call) Cost {
	m, n := matrix(c.In[0])
	k := c.costs(0)
	k.FLOPs = int64(d.flops(m, n, c) * c.In[0].Shape()[:len(c.In[0].Shape())-2].Numel())
	return k
}

// matrix returns the two last sizes of x.
func matrix(x *tensor.Tensor) (m, n int) {
	s := x.Shape()
	return s[len(s)-2], s[len(s)-1]
}

func (d *decomposition) infer(c *Call) error {
	x := c.In[0]
	if err := c.checkFloat(d.params[0].Name, x); err != nil {
		return err
	}
	s := x.Shape()
	if len(s) < 2 {
		return c.Bad(d.params[0].Name, Describe(x), "a tensor of at least two dims", "")
	}
	m, n := matrix(x)
	if d.square && m != n {
		return c.Bad(d.params[0].Name, Describe(x), "square matrices", "")
	}
	lead := s[:len(s)-2]
	for i, y := range c.In[1:] {
		ys := y.Shape()
		if len(ys) != len(s) || !ys[:len(ys)-2].Equal(lead) || ys[len(ys)-2] != m {
			return c.Bad(d.params[i+1].Name, Describe(y), fmt.Sprintf("a tensor %v of matrices with %d rows", append(append(shape.Shape{}, lead...), m, -1), m), "as x, "+Describe(x)+", has")
		}
	}
	dt := x.DType()
	for _, y := range c.In[1:] {
		if !y.DType().IsFloat() {
			return c.Bad("b", Describe(y), "a float tensor", "")
		}
		dt = promote2(c.Ctx, x, y)
	}
	for _, r := range d.results(m, n, c) {
		c.Spec = append(c.Spec, Spec{dt, append(append(shape.Shape{}, lead...), r...)})
	}
	return nil
}

// batches is the rule of operators on batches of matrices: a leading dim may be cut.
func batches(c *Call) []Row {
	var rows []Row
	for d := range len(c.In[0].Shape()) - 2 {
		row := rowOf(c)
		for i := range row.In {
			row.In[i] = mesh.Shard(d)
		}
		for i := range row.Out {
			row.Out[i] = mesh.Shard(d)
		}
		rows = append(rows, row)
	}
	return rows
}

// rows is the rule of d.
func (d *decomposition) rows(c *Call) []Row {
	rows := batches(c)
	if d.columns {
		row, last := rowOf(c), mesh.Shard(c.In[1].Ndim()-1)
		row.In[1], row.Out[0] = last, last
		rows = append(rows, row)
	}
	return rows
}

func (d *decomposition) runAll(c *Call) error {
	m, n := matrix(c.In[0])
	count := c.In[0].Shape()[:len(c.In[0].Shape())-2].Numel()
	in, out := make([][]float64, len(c.In)), make([][]float64, len(c.Out))
	for i, x := range c.In {
		in[i] = allOf(x)
	}
	for i, y := range c.Out {
		out[i] = make([]float64, y.Numel())
	}
	for k := range count {
		if !d.run(parts(out, count, k), parts(in, count, k), m, n, c) {
			return c.Bad(d.params[0].Name, d.refuse, "another", fmt.Sprintf("matrix %d of %d", k, count))
		}
	}
	for i, y := range c.Out {
		storeAll(y, out[i])
	}
	goruntime.KeepAlive(c)
	return nil
}

// parts returns the k-th of count equal parts of each of list.
func parts(list [][]float64, count, k int) [][]float64 {
	out := make([][]float64, len(list))
	for i, all := range list {
		size := len(all) / count
		out[i] = all[k*size : (k+1)*size]
	}
	return out
}

// allOf returns a copy of the elements of x as float64.
func allOf(x *tensor.Tensor) []float64 {
	out := make([]float64, 0, x.Numel())
	if x.DType().Compute() == dtype.Float64 {
		xs := newSource[float64](x, x.Shape())
		for lo := 0; lo < x.Numel(); lo += blockSize {
			out = append(out, xs.block(lo, min(lo+blockSize, x.Numel()))...)
		}
		return out
	}
	xs := newSource[float32](x, x.Shape())
	for lo := 0; lo < x.Numel(); lo += blockSize {
		for _, v := range xs.block(lo, min(lo+blockSize, x.Numel())) {
			out = append(out, float64(v))
		}
	}
	return out
}

// storeAll stores values as the elements of y.
func storeAll(y *tensor.Tensor, values []float64) {
	if y.DType().Compute() == dtype.Float64 {
		ys := newSink[float64](y)
		for lo := 0; lo < len(values); lo += blockSize {
			hi := min(lo+blockSize, len(values))
			copy(ys.block(lo, hi), values[lo:hi])
			ys.store(lo, hi)
		}
		return
	}
	ys := newSink[float32](y)
	for lo := 0; lo < len(values); lo += blockSize {
		hi := min(lo+blockSize, len(values))
		for i, v := range values[lo:hi] {
			ys.block(lo, hi)[i] = float32(v)
		}
		ys.store(lo, hi)
	}
}

var (
	inMatrix  = Param{Name: "x", Kind: Tensor, Doc: "a float tensor of matrices [.., m, n]"}
	inSquares = Param{Name: "x", Kind: Tensor, Doc: "a float tensor of square matrices [.., n, n]"}
)

// inWhichUpper is the first argument of what reads a triangle of symmetric matrices.
var inWhichUpper = Param{Name: "upper", Kind: Bool, Doc: "whether the upper triangle is read"}

// asLower returns a [n, n], which it may change, with the triangle below the diagonal that c reads.
func asLower(a []float64, n int, c *Call) []float64 {
	if c.Args[0].Int != 0 {
		for i := range n {
			for j := range i {
				a[i*n+j] = a[j*n+i]
			}
		}
	}
	return a
}

func sameShape(m, n int, _ *Call) []shape.Shape { return []shape.Shape{{m, n}} }

// notFinite is what has no eigenvalues.
const notFinite = "a matrix with elements that are not finite"

var decompositions = []*decomposition{
	{name: "matrix_inverse", doc: "matrix_inverse(x) returns the inverses of matrices.", params: []Param{inSquares}, square: true, refuse: "a singular matrix", results: sameShape,
		run:   func(out, in [][]float64, n, _ int, _ *Call) bool { return lapack.Inverse(out[0], in[0], n) },
		flops: func(n, _ int, _ *Call) int { return 2 * n * n * n },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			yt := t.turned(c.Out[0])
			return one(t.Neg(t.MatMul(yt, t.MatMul(dy[0], yt))))
		}},
	{name: "matrix_solve", doc: "matrix_solve(x, b) returns the matrices y with x y = b.", params: []Param{inSquares, {Name: "b", Kind: Tensor, Doc: "a float tensor of matrices [.., n, k]"}}, square: true, columns: true, refuse: "a singular matrix",
		results: func(m, n int, c *Call) []shape.Shape {
			_, k := matrix(c.In[1])
			return []shape.Shape{{n, k}}
		},
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			_, k := matrix(c.In[1])
			return lapack.Solve(out[0], in[0], in[1], n, k)
		},
		flops: func(n, _ int, c *Call) int {
			_, k := matrix(c.In[1])
			return 2*n*n*n/3 + 2*n*n*k
		},
		grad: solveGrad, byBlock: solveByRows},
	{name: "matrix_lstsq", doc: "matrix_lstsq(x, b, rtol) returns the matrices y of least norm for which x y is nearest to b, and the ranks of x: how many singular values are above rtol times the greatest. The others count as 0.",
		params:  []Param{inMatrix, {Name: "b", Kind: Tensor, Doc: "a float tensor of matrices [.., m, k]"}, {Name: "rtol", Kind: Float, Doc: "a relative limit"}},
		columns: true, refuse: notFinite,
		results: func(_, n int, c *Call) []shape.Shape {
			_, k := matrix(c.In[1])
			return []shape.Shape{{n, k}, {}}
		},
		run: func(out, in [][]float64, m, n int, c *Call) bool {
			_, k := matrix(c.In[1])
			rank, ok := lapack.LeastSquares(out[0], in[0], in[1], m, n, k, c.Args[0].Float)
			out[1][0] = float64(rank)
			return ok
		},
		flops: func(m, n int, c *Call) int { // of a full rank
			_, k := matrix(c.In[1])
			a, l := max(m, n), min(m, n)
			return 2*a*l*l - 2*l*l*l/3 + 4*a*l*k - l*l*k
		},
		grad: lstsqGrad},
	{name: "log_det", doc: "log_det(x) returns the signs of the determinants of matrices and the logarithms of their absolute values.", params: []Param{inSquares}, square: true,
		results: func(m, n int, _ *Call) []shape.Shape { return []shape.Shape{{}, {}} },
		run: func(out, in [][]float64, n, _ int, _ *Call) bool {
			out[0][0], out[1][0] = lapack.LogDet(in[0], n)
			return true
		},
		flops: func(n, _ int, _ *Call) int { return 2 * n * n * n / 3 },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			if dy[1] == nil {
				return []*tensor.Tensor{nil}
			}
			inv := t.Do("matrix_inverse", one(c.In[0]))
			n := len(dy[1].Shape())
			return one(t.Mul(t.column(t.column(dy[1], n), n+1), t.turned(inv)))
		}},
	{name: "matrix_cholesky", doc: "matrix_cholesky(x) returns the lower triangular matrices whose products with their transposes are x.", params: []Param{inSquares}, square: true, refuse: "a matrix that is not positive definite", results: sameShape,
		run:   func(out, in [][]float64, n, _ int, _ *Call) bool { return lapack.Cholesky(out[0], in[0], n) },
		flops: func(n, _ int, _ *Call) int { return n * n * n / 3 },
		grad:  choleskyGrad, byBlock: choleskyByRows},
	{name: "matrix_qr", doc: "matrix_qr(x) returns matrices q [.., m, k] with orthonormal columns and upper triangular r [.., k, n] whose product is x; k is the lesser of m and n.", params: []Param{inMatrix},
		results: func(m, n int, _ *Call) []shape.Shape { return []shape.Shape{{m, min(m, n)}, {min(m, n), n}} },
		run: func(out, in [][]float64, m, n int, _ *Call) bool {
			return lapack.QR(out[0], out[1], in[0], m, n)
		},
		flops: func(m, n int, _ *Call) int { k := min(m, n); return 4*m*n*k - 4*k*k*k/3 }, // q and r
		grad:  qrGrad, byBlock: qrByBlock},
	{name: "matrix_svd", doc: "matrix_svd(x) returns u [.., m, k], the singular values [.., k] in descending order and vᵀ [.., k, n] of matrices.", params: []Param{inMatrix}, refuse: notFinite,
		results: func(m, n int, _ *Call) []shape.Shape {
			k := min(m, n)
			return []shape.Shape{{m, k}, {k}, {k, n}}
		},
		run: func(out, in [][]float64, m, n int, _ *Call) bool {
			return lapack.SVD(out[0], out[1], out[2], in[0], m, n)
		},
		flops: func(m, n int, _ *Call) int { a, k := max(m, n), min(m, n); return 6*a*k*k + 20*k*k*k },
		grad:  svdGrad, byBlock: svdByBlock},
	{name: "matrix_eigh", doc: "matrix_eigh(x, upper) returns the eigenvalues [.., n] of symmetric matrices in ascending order, and the eigenvectors as columns; it reads their lower triangles, or the upper ones.", params: []Param{inSquares, inWhichUpper}, square: true, refuse: notFinite,
		results: func(m, n int, _ *Call) []shape.Shape { return []shape.Shape{{n}, {n, n}} },
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			return lapack.Eigh(out[0], out[1], asLower(in[0], n, c), n)
		},
		flops: func(n, _ int, _ *Call) int { return 9 * n * n * n },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.eighGrad(c.Out[0], c.Out[1], dy[0], dy[1]))
		}},
	{name: "matrix_svdvals", doc: "matrix_svdvals(x) returns the singular values [.., k] of matrices in descending order, without the vectors.", params: []Param{inMatrix}, refuse: notFinite,
		results: func(m, n int, _ *Call) []shape.Shape { return []shape.Shape{{min(m, n)}} },
		run: func(out, in [][]float64, m, n int, _ *Call) bool {
			return lapack.SingularValues(out[0], in[0], m, n)
		},
		flops: func(m, n int, _ *Call) int { a, k := max(m, n), min(m, n); return 4*a*k*k - 4*k*k*k/3 },
		grad:  svdvalsGrad, byBlock: svdvalsByBlock},
	{name: "matrix_eigvalsh", doc: "matrix_eigvalsh(x, upper) returns the eigenvalues [.., n] of symmetric matrices in ascending order, without the vectors; it reads their lower triangles, or the upper ones.", params: []Param{inSquares, inWhichUpper}, square: true, refuse: notFinite,
		results: func(_, n int, _ *Call) []shape.Shape { return []shape.Shape{{n}} },
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			return lapack.Eigenvalues(out[0], asLower(in[0], n, c), n)
		},
		flops: func(n, _ int, _ *Call) int { return 4 * n * n * n / 3 },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			of := t.several("matrix_eigh", c.In, c.Args[0])
			return one(t.eighGrad(of[0], of[1], dy[0], nil))
		}},
	{name: "matrix_exp", doc: "matrix_exp(x) returns the exponentials of matrices.", params: []Param{inSquares}, square: true, refuse: notFinite, results: sameShape,
		run:   func(out, in [][]float64, n, _ int, _ *Call) bool { return lapack.Exp(out[0], in[0], n) },
		flops: func(n, _ int, _ *Call) int { return 20 * n * n * n }, // six products, a solution and some squarings
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor { // the upper right block of exp [xᵀ dy; 0 xᵀ]
			xt := t.turned(c.In[0])
			n := len(xt.Shape())
			size := t.Do("norm", one(dy[0].Detach()), Float1(2), IntsN(n-2, n-1), Bool1(true))
			size = t.Where(t.binary("gt", size, tensor.Number(0.0)), size, tensor.Number(1.0))
			g := t.Div(dy[0], size) // which the block is linear in: large ones would spoil the digits of x
			zero := t.Scale(g, 0)
			top := t.Do("cat", []*tensor.Tensor{xt, g}, Int1(n-1))
			both := t.Do("cat", []*tensor.Tensor{top, t.Do("cat", []*tensor.Tensor{zero, xt}, Int1(n-1))}, Int1(n-2))
			e, k := t.Do("matrix_exp", one(both)), xt.Shape()[n-1]
			e = t.Do("narrow", one(e), Int1(n-2), Int1(0), Int1(k))
			return one(t.Mul(t.Do("narrow", one(e), Int1(n-1), Int1(k), Int1(k)), size))
		}},
}

func init() {
	for _, d := range decompositions {
		register(d.def())
	}
}
