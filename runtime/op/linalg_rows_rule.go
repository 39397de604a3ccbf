package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/lapack"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Cholesky's factor and the solutions of large matrices whose rows are cut. Columns are
// eliminated a panel at a time: the panel is gathered, and what lies to its right changes where
// it lies. So no rank has more at once than some of its rows and a panel; each panel is sent to
// all, which over all panels is half of the matrix. The blocks are those of Golub and Van Loan,
// Matrix Computations, 4th edition, 3.2 and 4.2.

// leastPanel is the number of columns of a panel below which a matrix is gathered: sending
// small panels takes longer than that.
const leastPanel = 16

// panelWidth returns how many columns of x are a panel: two for each rank that has some of the
// rows; 0 if these are not cut, or columns are, or there are few.
func panelWidth(x *tensor.Tensor) int {
	_, n := matrix(x)
	d := x.Ndim() - 2
	parts := partsAlong(x, []int{d})
	if parts < 2 || n < 2*parts*leastPanel || partsAlong(x, []int{d + 1}) > 1 {
		return 0
	}
	return (n + 2*parts - 1) / (2 * parts)
}

func init() {
	square := Param{Name: "x", Kind: Tensor, Doc: "a float tensor of square matrices [.., n, n]"}
	registerKnown("known_cholesky", 1, []Param{square, {Name: "l", Kind: Tensor, Doc: "its factor"}}, choleskyGrad, func(c *Call) []Row {
		row, cut := rowOf(c), mesh.Shard(c.In[0].Ndim()-2)
		row.In[0], row.In[1], row.Out[0] = cut, cut, cut
		return append(batches(c), row)
	})
	registerKnown("known_solution", 2, []Param{square, {Name: "b", Kind: Tensor, Doc: "a float tensor of matrices [.., n, k]"}, {Name: "y", Kind: Tensor, Doc: "the solution"}}, solveGrad, func(c *Call) []Row {
		rows := batches(c)
		for i := range 2 {
			row := rowOf(c)
			row.In[i] = mesh.Shard(c.In[i].Ndim() - 2)
			rows = append(rows, row)
		}
		return rows
	})
	register(&Def{
		Name:    "pivot_rows",
		Surface: Internal,
		OfParts: true,
		Doc:     "pivot_rows(panel) returns the indices [k] of the rows of panel [m, k] that Gauss's elimination with partial pivoting takes for pivots, in order, and which rows [m, 1] are others.",
		Params:  []Param{{Name: "panel", Kind: Tensor, Doc: "a float tensor of at least as many rows as columns"}},
		Infer: func(c *Call) error {
			m, k := matrix(c.In[0])
			return c.Results(Spec{dtype.Int64, shape.Shape{k}}, Spec{dtype.Bool, shape.Shape{m, 1}})
		},
		Run: func(c *Call) error {
			m, k := matrix(c.In[0])
			rows, others := tensor.Data[int64](c.Out[0]), tensor.Data[bool](c.Out[1])
			for i := range others {
				others[i] = true
			}
			for i, row := range lapack.PivotRows(allOf(c.In[0]), m, k) {
				rows[i], others[row] = int64(row), false
			}
			return nil
		},
		Cost: func(c *Call) Cost {
			m, k := matrix(c.In[0])
			return c.costs(2 * m * k * k)
		},
	})
}

// box returns rows and columns of matrices, so many from some on, cut anew if rows are.
func (t *Tape) box(x *tensor.Tensor, row, col, rows, cols int) *tensor.Tensor {
	lo, size := make([]int, x.Ndim()), slices.Clone(x.Shape())
	d := x.Ndim() - 2
	lo[d], lo[d+1], size[d], size[d+1] = row, col, rows, cols
	return t.subtensorGet(x, lo, size)
}

// belowZeros returns matrices of rows rows, of which the last are those of x behind at others.
func (t *Tape) belowZeros(x *tensor.Tensor, rows, at int) *tensor.Tensor {
	lo, size := make([]int, x.Ndim()), slices.Clone(x.Shape())
	d := x.Ndim() - 2
	lo[d], size[d] = at, rows
	return t.subtensorPut(x, size, lo)
}

// choleskyByRows is the Compose of matrix_cholesky: nil unless rows are cut, and many.
func choleskyByRows(t *Tape, c *Call) []*tensor.Tensor {
	width := panelWidth(c.In[0])
	if width == 0 {
		return nil
	}
	x := t.wide(c.In[0].Detach())
	n, d := x.Shape()[x.Ndim()-1], x.Ndim()-2
	var panels []*tensor.Tensor
	for at := 0; at < n; at += width {
		rest := n - at
		k := min(width, rest)
		own := t.unary("matrix_cholesky", t.gatheredAlong(t.box(x, 0, 0, k, k), d))
		panel := t.belowZeros(own, n, at)
		if k < rest {
			below := t.box(x, k, 0, rest-k, rest)
			left := t.Narrow(below, d+1, 0, k)
			l := t.turned(t.Do("matrix_triangular", []*tensor.Tensor{own, t.turned(left)}, Bool1(false), Bool1(false)))
			x = t.Sub(t.Narrow(below, d+1, k, rest-k), t.MatMul(l, t.turned(t.gatheredAlong(l, d))))
			panel = t.Add(panel, t.belowZeros(l, n, at+k))
		}
		panels = append(panels, panel)
	}
	y := t.Cast(t.Do("cat", panels, Int1(d+1)), c.In[0].DType())
	return one(t.Do("known_cholesky", []*tensor.Tensor{c.In[0], y}))
}

// An eliminated is a panel that has been: its pivots [k, k], and what their rows have to the
// right of it, and of the right sides.
type eliminated struct{ own, rows, right *tensor.Tensor }

// solveByRows is the Compose of matrix_solve: nil unless there is one matrix, whose rows are
// cut, and many, and the right sides are not cut by columns.
func solveByRows(t *Tape, c *Call) []*tensor.Tensor {
	width, b := panelWidth(c.In[0]), c.In[1]
	if width == 0 || c.In[0].Ndim() != 2 || partsAlong(b, []int{1}) > 1 || b.Placed() && b.Layout().IsPartial() {
		return nil
	}
	x, b := t.wide(c.In[0].Detach()), t.wide(b.Detach())
	n, zero := x.Shape()[0], tensor.Number(0.0)
	var done []eliminated
	for rest := n; rest > 0; rest -= width {
		k := min(width, rest)
		panel := t.Narrow(x, 1, 0, k)
		whole := t.gatheredAlong(panel, 0)
		found := t.several("pivot_rows", one(whole))
		pivots, others := found[0], found[1]
		e := eliminated{own: t.indexSelect(whole, 0, pivots), right: t.shared(t.indexSelect(b, 0, pivots))}
		by := t.turned(t.binary("matrix_solve", t.turned(e.own), t.turned(panel)))
		if k < rest {
			next := t.Narrow(x, 1, k, rest-k)
			e.rows = t.Do("settle", one(t.indexSelect(next, 0, pivots)), IntsN(1, 1, 1, 1))
			x = t.Where(others, t.Sub(next, t.MatMul(by, t.Do("settle", one(e.rows), IntsN()))), zero)
		}
		b = t.Where(others, t.Sub(b, t.MatMul(by, e.right)), zero)
		done = append(done, e)
	}
	var y *tensor.Tensor
	for _, e := range slices.Backward(done) {
		if y == nil {
			y = t.binary("matrix_solve", e.own, e.right)
			continue
		}
		right := t.Sub(e.right, t.shared(t.MatMul(e.rows, y)))
		y = t.Do("cat", []*tensor.Tensor{t.binary("matrix_solve", e.own, right), y}, Int1(0))
	}
	return one(t.Do("known_solution", []*tensor.Tensor{c.In[0], c.In[1], t.Cast(y, promote2(c.Ctx, c.In[0], c.In[1]))}))
}
