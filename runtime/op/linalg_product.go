package op

import (
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/gemm"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A product is what there is to compute for a matmul: a batch of matrix
// products [m, k] by [k, n].
type product struct {
	batch   shape.Shape
	m, n, k int
	a, b    *tensor.Tensor // [..., m, k] and [..., k, n]
	turned  bool           // b is [..., n, k]
}

// productOf returns the product of a and b, of which those of one dim become
// a row and a column.
func productOf(a, b *tensor.Tensor) product {
	a = atLeastRow(a)
	if b.Ndim() == 1 {
		b = b.View(shape.Shape{b.Shape()[0], 1}, []int{b.Strides()[0], 0}, b.Offset())
	}
	as, bs := a.Shape(), b.Shape()
	la, lb := len(as)-2, len(bs)-2
	batch, _ := shape.Broadcast(as[:la], bs[:lb])
	return product{batch: batch, m: as[la], n: bs[lb+1], k: as[la+1], a: a, b: b}
}

// atLeastRow returns x, or the row that it is if it has one dim.
func atLeastRow(x *tensor.Tensor) *tensor.Tensor {
	if x.Ndim() > 1 {
		return x
	}
	return x.View(shape.Shape{1, x.Shape()[0]}, []int{0, x.Strides()[0]}, x.Offset())
}

// turnedProduct returns the product of a and the transpose of b, which has two dims.
func turnedProduct(a, b *tensor.Tensor) product {
	a = atLeastRow(a)
	s := a.Shape()
	last := len(s) - 2
	return product{batch: s[:last], m: s[last], n: b.Shape()[0], k: s[last+1], a: a, b: b, turned: true}
}

// into stores the products in y, one after the other.
func (p product) into(c *Call, y *tensor.Tensor) error {
	dt := y.DType().Compute()
	var err error
	if p.a, err = factorIn(c.Ctx, p.a, dt); err != nil {
		return c.memory(err)
	}
	if p.b, err = factorIn(c.Ctx, p.b, dt); err != nil {
		return c.memory(err)
	}
	out := y
	if dt != y.DType() {
		if out, err = tensor.New(c.Ctx.Alloc, dt, y.Shape()); err != nil {
			return c.memory(err)
		}
	}
	switch p = p.merged(); dt {
	case dtype.Float32:
		multiplyFloats[float32](c.Ctx, p, out)
	case dtype.Float64:
		multiplyFloats[float64](c.Ctx, p, out)
	case dtype.Int64:
		multiplyInts(p, out, kernel.Gemm.I64)
	case dtype.Int32:
		multiplyInts(p, out, kernel.Gemm.I32)
	default:
		multiplyInts(p, out, kernel.Gemm.U8)
	}
	if out != y {
		copyInto(y, out)
	}
	goruntime.KeepAlive(p.a)
	goruntime.KeepAlive(p.b)
	return nil
}

// factorIn returns x in dtype dt. Numbers of 16 bits stay what they are if dt
// is float32: their products widen them as they go.
func factorIn(c *Ctx, x *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	if dt == dtype.Float32 && x.DType().IsHalf() {
		return x, nil
	}
	return castTo(c, x, dt)
}

// multiplyFloats stores p in y.
func multiplyFloats[T dtype.Float](c *Ctx, p product, y *tensor.Tensor) {
	g := gemm.Product[T]{M: p.m, N: p.n, K: p.k, Count: p.batch.Numel(), C: tensor.Data[T](y), A: operand[T](p.a), B: operand[T](p.b)}
	if p.turned {
		g.B.Row, g.B.Col = g.B.Col, g.B.Row
	}
	if g.Count > 1 {
		g.At = func(i int) (a, b int) { return p.offset(p.a, i), p.offset(p.b, i) }
	}
	gemm.Multiply(c.Workers, g)
}

// operand returns the matrix, or the first one, that x is.
func operand[T dtype.Float](x *tensor.Tensor) gemm.Operand[T] {
	o, d := gemm.Operand[T]{}, x.Ndim()-2
	o.Offset, o.Row, o.Col = x.Offset(), x.Strides()[d], x.Strides()[d+1]
	switch x.DType() {
	case dtype.Float16:
		o.F16 = tensor.Storage[dtype.F16](x)
	case dtype.BFloat16:
		o.BF16 = tensor.Storage[dtype.BF16](x)
	default:
		o.Data = tensor.Storage[T](x)
	}
	return o
}

// multiplyInts stores p in y, one matrix after the other.
func multiplyInts[T dtype.Integer](p product, y *tensor.Tensor, multiply func(c []T, a []T, ga kernel.Grid, b []T, gb kernel.Grid, m, n, k int)) {
	a, b, c := tensor.Storage[T](p.a), tensor.Storage[T](p.b), tensor.Data[T](y)
	for i := range p.batch.Numel() {
		ga, gb := p.matrix(p.a, i), p.matrix(p.b, i)
		if p.turned {
			gb.Row, gb.Col = gb.Col, gb.Row
		}
		multiply(c[i*p.m*p.n:][:p.m*p.n], a, ga, b, gb, p.m, p.n, p.k)
	}
}

// matrix returns where the elements of x lie that are its matrix in batch i.
func (p product) matrix(x *tensor.Tensor, i int) kernel.Grid {
	d := x.Ndim() - 2
	return kernel.Grid{Offset: p.offset(x, i), Row: x.Strides()[d], Col: x.Strides()[d+1]}
}

// offset returns the offset of x's matrix in batch i.
func (p product) offset(x *tensor.Tensor, i int) int {
	s, strides := x.Shape(), x.Strides()
	d, offset := len(s)-2, x.Offset()
	for e := len(p.batch) - 1; e >= 0; e-- {
		if d--; d >= 0 && s[d] != 1 {
			offset += i % p.batch[e] * strides[d]
		}
		i /= p.batch[e]
	}
	return offset
}

// merged returns p with the batches of a as rows of one matrix, if b is one
// matrix for all of them and the strides of a allow.
func (p product) merged() product {
	if len(p.batch) == 0 || p.b.Ndim() > 2 {
		return p
	}
	rows := p.batch.Numel() * p.m
	s := shape.Shape{rows, p.k}
	strides, ok := viewStrides(p.a, s)
	if !ok {
		return p
	}
	return product{m: rows, n: p.n, k: p.k, a: p.a.View(s, strides, p.a.Offset()), b: p.b, turned: p.turned}
}
