package op

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The QR of tall matrices whose rows are cut: TSQR (Demmel, Grigori, Hoemmen and Langou,
// "Communication-optimal parallel and sequential QR and LU factorizations", SIAM Journal
// on Scientific Computing 34(1), 2012). Each rank factors its rows, all factor the
// triangles of all, and what a rank has of q is its own q times its rows of theirs. The
// signs are those that Householder's reflections of the whole give (Ballard and others,
// "Reconstructing Householder vectors from TSQR", IPDPS 2014), so that they are the same
// on any number of ranks. The singular values of x are those of r, and so are its right
// singular vectors; the left ones are q times those of r.

var inTall = Param{Name: "x", Kind: Tensor, Doc: "a float tensor of tall matrices [.., m, n]"}

func init() {
	register(&Def{
		Name:    "qr_of_parts",
		Surface: Internal,
		OfParts: true,
		Doc:     "qr_of_parts(x, parts) returns (q, r) [.., m, n] and [.., parts n, n], as matrix_qr, of each rank's rows: what they lack of columns of q and of rows of r is zero.",
		Params:  []Param{inTall, {Name: "parts", Kind: Int, Doc: "how many ranks there are"}},
		Infer: func(c *Call) error {
			x := c.In[0]
			_, n := matrix(x)
			s := slices.Clone(x.Shape())
			s[len(s)-2] = n * c.Args[0].Int
			return c.Results(Spec{x.DType(), x.Shape()}, Spec{x.DType(), s})
		},
		Run: runQROfParts,
		Shard: func(c *Call) []Row {
			rows := batches(c)
			d := c.In[0].Ndim() - 2
			return append(rows, cutting(c, d, d))
		},
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			_, n := matrix(b.X[0])
			rows := b.OutShape(1)[b.X[0].Ndim()-2]
			return b.Apply(Int1(rows / max(n, 1)))
		},
		Cost: func(c *Call) Cost {
			m, n := matrix(c.In[0])
			k := c.costs(0)
			k.FLOPs = int64(4 * m * n * n * c.In[0].Shape()[:c.In[0].Ndim()-2].Numel())
			return k
		},
	})
	register(&Def{
		Name:    "rows_of_parts",
		Surface: Internal,
		OfParts: true,
		Doc:     "rows_of_parts(q, joined) returns for each rank the product of its rows of q [.., m, n] and of its n rows of joined [.., parts n, n].",
		Params:  []Param{{Name: "q", Kind: Tensor, Doc: "matrices"}, {Name: "joined", Kind: Tensor, Doc: "matrices"}},
		Infer:   func(c *Call) error { return c.Result(c.In[0].DType(), c.In[0].Shape()) },
		Run: func(c *Call) error {
			return c.compose(func(t *Tape) *tensor.Tensor { return t.MatMul(c.In[0], c.In[1]) })
		},
		Shard: func(c *Call) []Row {
			row := rowOf(c)
			tall := mesh.Shard(c.In[0].Ndim() - 2)
			row.In[0], row.In[1], row.Out[0] = tall, tall, tall
			return append(batches(c), row)
		},
		Cost: func(c *Call) Cost {
			_, n := matrix(c.In[0])
			return c.costs(2 * c.In[0].Numel() * n)
		},
	})
	register(&Def{
		Name:    "qr_signs",
		Surface: Internal,
		OfParts: true,
		Doc:     "qr_signs(top) returns the signs [.., n] by which to multiply the columns of a matrix q, whose first rows top [.., n, n] are, and the rows of r, for them to be those that Householder's reflections give.",
		Params:  []Param{{Name: "top", Kind: Tensor, Doc: "square matrices"}},
		Infer: func(c *Call) error {
			x := c.In[0]
			return c.Result(x.DType(), x.Shape()[:x.Ndim()-1])
		},
		Run:   runQRSigns,
		Shard: batches,
		Cost: func(c *Call) Cost {
			_, n := matrix(c.In[0])
			return c.costs(c.In[0].Numel() * n)
		},
	})
}

func init() {
	matrices := Param{Name: "x", Kind: Tensor, Doc: "a float tensor of matrices [.., m, n]"}
	q, r := Param{Name: "q", Kind: Tensor, Doc: "its q"}, Param{Name: "r", Kind: Tensor, Doc: "its r"}
	u, s, vt := Param{Name: "u", Kind: Tensor, Doc: "its u"}, Param{Name: "s", Kind: Tensor, Doc: "its singular values"}, Param{Name: "vt", Kind: Tensor, Doc: "its vᵀ"}
	registerKnown("known_qr", 1, []Param{matrices, q, r}, qrGrad, tallOrWide)
	registerKnown("known_svd", 1, []Param{matrices, u, s, vt}, svdGrad, tallOrWide)
	registerKnown("known_pinv", 1, []Param{matrices, {Name: "p", Kind: Tensor, Doc: "its pseudoinverses"}}, pinvGrad, func(c *Call) []Row {
		tall, wide := rowOf(c), rowOf(c)
		d := c.In[0].Ndim() - 2
		tall.In[0], tall.In[1], tall.Out[0] = mesh.Shard(d), mesh.Shard(d+1), mesh.Shard(d+1)
		wide.In[0], wide.In[1], wide.Out[0] = mesh.Shard(d+1), mesh.Shard(d), mesh.Shard(d)
		return append(batches(c), tall, wide)
	})
	registerKnown("known_sqrth", 1, []Param{matrices, {Name: "y", Kind: Tensor, Doc: "its square roots"}}, sqrthGrad, batches)
	registerKnown("known_svdvals", 1, []Param{matrices, s}, svdvalsGrad, func(c *Call) []Row {
		tall, wide := rowOf(c), rowOf(c)
		d := c.In[0].Ndim() - 2
		tall.In[0], wide.In[0] = mesh.Shard(d), mesh.Shard(d+1)
		return append(batches(c), tall, wide)
	})
}

// registerKnown registers an operator whose results are its inputs but for the first ones,
// taken as known: what a decomposition by blocks has found of the first ones, with the gradient
// of the decomposition of the whole.
func registerKnown(name string, of int, params []Param, grad func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor, rows Rule) {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	register(&Def{
		Name:    name,
		Surface: Internal,
		OfParts: true,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(%s) returns %s as they are, which are known to be of %s; their gradient is that of the decomposition.", name, strings.Join(names, ", "), strings.Join(names[of:], ", "), strings.Join(names[:of], ", "))
		},
		Params: params,
		Infer: func(c *Call) error {
			for _, x := range c.In[of:] {
				c.Spec = append(c.Spec, Spec{x.DType(), x.Shape()})
			}
			return nil
		},
		Run: func(c *Call) error {
			for i, y := range c.Out {
				copyInto(y, c.In[of+i])
			}
			return nil
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return append(grad(t, c, dy), make([]*tensor.Tensor, len(c.In)-of)...)
		},
		Shard: rows,
		Cost:  moves,
	})
}

// tallOrWide is the rule of known factors of x, of which the first is cut as the rows of x are,
// or the last as its columns.
func tallOrWide(c *Call) []Row {
	tall, wide, last := rowOf(c), rowOf(c), len(c.Spec)-1
	d := c.In[0].Ndim() - 1
	tall.In[0], tall.In[1], tall.Out[0] = mesh.Shard(d-1), mesh.Shard(d-1), mesh.Shard(d-1)
	wide.In[0], wide.In[last+1], wide.Out[last] = mesh.Shard(d), mesh.Shard(d), mesh.Shard(d)
	return append(batches(c), tall, wide)
}

// runQROfParts factors all rows of In[0], which are one part.
func runQROfParts(c *Call) error {
	for _, y := range c.Out {
		copyInto(y, tensor.Number(0.0))
	}
	if c.In[0].Numel() == 0 {
		return nil
	}
	qr := &Call{Def: must("matrix_qr"), Ctx: c.Ctx, In: c.In}
	if err := qr.Apply(); err != nil {
		return err
	}
	for i, y := range qr.Out {
		copyInto(c.Out[i].View(y.Shape(), c.Out[i].Strides(), c.Out[i].Offset()), y)
	}
	return nil
}

// runQRSigns eliminates column by column, as in LU, what a matrix less its signs is.
func runQRSigns(c *Call) error {
	_, n := matrix(c.In[0])
	all, signs := allOf(c.In[0]), make([]float64, c.Out[0].Numel())
	for k := 0; n > 0 && k < len(all)/(n*n); k++ {
		a := all[k*n*n : (k+1)*n*n]
		for i := range n {
			sign := -1.0
			if a[i*n+i] < 0 {
				sign = 1
			}
			signs[k*n+i] = sign
			a[i*n+i] -= sign
			for row := i + 1; row < n; row++ {
				f := a[row*n+i] / a[i*n+i]
				for j := i + 1; j < n; j++ {
					a[row*n+j] -= float64(f * a[i*n+j])
				}
			}
		}
	}
	storeAll(c.Out[0], signs)
	return nil
}

// tallParts returns among how many ranks the rows of x are divided, if columns are few
// and not divided, so that triangles of all ranks are less than x; else 0.
func tallParts(x *tensor.Tensor) int {
	m, n := matrix(x)
	d := x.Ndim() - 2
	parts := partsAlong(x, []int{d})
	if parts < 2 || n == 0 || parts*n >= m || partsAlong(x, []int{d + 1}) > 1 {
		return 0
	}
	return parts
}

// joinedQR returns q and r of the triangles r of all ranks.
func (t *Tape) joinedQR(r *tensor.Tensor) []*tensor.Tensor {
	return t.several("matrix_qr", one(t.gatheredAlong(r, r.Ndim()-2)))
}

// tallQR returns q, cut as x, and r, which every rank has: nil unless x is tall.
func (t *Tape) tallQR(x *tensor.Tensor) (q, r *tensor.Tensor) {
	parts, d := tallParts(x), x.Ndim()-2
	if parts == 0 {
		return nil, nil
	}
	_, n := matrix(x)
	own := t.several("qr_of_parts", one(x), Int1(parts))
	joined := t.joinedQR(own[1])
	s := slices.Clone(x.Shape())
	s[d] = n
	blocks := t.Do("rows_of_parts", []*tensor.Tensor{own[0], joined[0]})
	top := t.gatheredAlong(t.subtensorGet(blocks, make([]int, len(s)), shape.Shape(s)), d)
	signs := t.Do("qr_signs", one(top))
	return t.Mul(blocks, t.column(signs, d)), t.Mul(joined[1], t.column(signs, d+1))
}

// qrByBlock is the Compose of matrix_qr: nil unless x is tall, and its rows are cut.
func qrByBlock(t *Tape, c *Call) []*tensor.Tensor {
	q, r := t.tallQR(c.In[0].Detach())
	if q == nil {
		return nil
	}
	return t.several("known_qr", []*tensor.Tensor{c.In[0], q, r})
}

// svdByBlock is the Compose of matrix_svd: nil unless x is tall, and its rows are cut, or
// wide, and its columns are.
func svdByBlock(t *Tape, c *Call) []*tensor.Tensor {
	x := c.In[0]
	if q, r := t.tallQR(x.Detach()); q != nil {
		of := t.several("matrix_svd", one(r))
		return t.several("known_svd", []*tensor.Tensor{x, t.MatMul(q, of[0]), of[1], of[2]})
	}
	q, r := t.tallQR(t.turned(x.Detach()))
	if q == nil {
		return nil
	}
	of := t.several("matrix_svd", one(t.turned(r)))
	return t.several("known_svd", []*tensor.Tensor{x, of[0], of[1], t.MatMul(of[2], t.turned(q))})
}

// svdvalsByBlock is the Compose of matrix_svdvals: nil unless x is tall, and its rows are
// cut, or wide, and its columns are. The signs of r do not matter.
func svdvalsByBlock(t *Tape, c *Call) []*tensor.Tensor {
	for _, x := range []*tensor.Tensor{c.In[0].Detach(), t.turned(c.In[0].Detach())} {
		parts := tallParts(x)
		if parts == 0 {
			continue
		}
		r := t.joinedQR(t.several("qr_of_parts", one(x), Int1(parts))[1])[1]
		return one(t.Do("known_svdvals", []*tensor.Tensor{c.In[0], t.Do("matrix_svdvals", one(r))}))
	}
	return nil
}
