package op

import (
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/rng"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Of a draw that ranks make together each computes its block: an element is a
// function of its index in the whole.

// drawnRule is the rule of draws without an input: any dim may be cut.
func drawnRule(c *Call) []Row {
	var rows []Row
	for d := range c.Spec[0].Shape {
		row := rowOf(c)
		row.Out[0] = mesh.Shard(d)
		rows = append(rows, row)
	}
	return rows
}

// empty returns a tensor for the rank's block of result i, not set.
func (b *Blocks) empty(i int) *tensor.Tensor {
	x, err := tensor.New(b.Ctx.Alloc, b.Spec[i].DType, b.OutShape(i))
	if err != nil {
		panic(&TapeError{b.memory(err)})
	}
	return x
}

// draw returns the rank's block of the first result, of which fill sets n
// elements in a row, n being the elements of x, from element first of the whole
// on.
func (b *Blocks) draw(fill func(x *tensor.Tensor, seed, draw, first uint64)) ([]*tensor.Tensor, error) {
	y := b.empty(0)
	seed, draw := b.Ctx.Draw()
	if y.Hollow() {
		return one(y), nil
	}
	box, _ := b.To[0].Box(b.Rank)
	eachRun(box, b.Spec[0].Shape, func(at, first, n int) {
		fill(y.View(shape.Shape{n}, []int{1}, y.Offset()+at), seed, draw, uint64(first))
	})
	return one(y), nil
}

// eachRun calls f for each run of the elements of box that follow one another in
// row-major order in a tensor of shape s: n of them from element at of the box
// and from element first of the tensor on.
func eachRun(box mesh.Box, s shape.Shape, f func(at, first, n int)) {
	block := shape.Shape(box.Shape())
	if block.Numel() == 0 {
		return
	}
	split := len(s) // the dims before it are walked
	n := 1
	for split > 0 && n == s[split:].Numel() {
		split--
		n *= block[split]
	}
	for at := 0; at < block.Numel(); at += n {
		f(at, int(inWhole(at, block, s, box.Lo)), n)
	}
}

func localRandint(b *Blocks) ([]*tensor.Tensor, error) {
	low, high := int64(b.Args[0].Int), int64(b.Args[1].Int)
	ints, err := tensor.New(b.Ctx.Alloc, dtype.Int64, b.OutShape(0))
	if err != nil {
		return nil, b.memory(err)
	}
	seed, draw := b.Ctx.Draw()
	if ints.Hollow() {
		return b.Empty(), nil
	}
	box, _ := b.To[0].Box(b.Rank)
	dst := tensor.Data[int64](ints)
	eachRun(box, b.Spec[0].Shape, func(at, first, n int) {
		rng.Ints(dst[at:at+n], seed, draw, uint64(first), low, high)
	})
	goruntime.KeepAlive(ints)
	return one(b.T.Cast(ints, b.Spec[0].DType)), nil
}
