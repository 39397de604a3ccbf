package nn

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// runPacked runs the module over packed sequences, and returns packed ones and the last
// state of each, in the batch's order, in which hx is, too.
func (r *recurrence) runPacked(p *packedSequence, hx starlark.Value) (starlark.Value, error) {
	x := p.data
	if !x.DType().IsFloat() || x.Ndim() != 2 || x.Shape()[1] != r.in {
		return nil, &op.ArgError{Func: r.Fn, Param: "input", Got: op.Describe(x) + " in a PackedSequence", Want: fmt.Sprintf("a float tensor [steps, %d]", r.in), Rule: "input_size"}
	}
	r.sizes = p.sizes
	h, c, err := r.begin(hx, x, p.sizes[0])
	if err != nil {
		return nil, err
	}
	reorder := func(x *tensor.Tensor, order []int) *tensor.Tensor {
		if x == nil || order == nil {
			return x
		}
		return r.Do("index_select", []*tensor.Tensor{x, intTensor(&r.OpChain, order)}, op.Int1(1))
	}
	if hx != starlark.None {
		h, c = reorder(h, p.order), reorder(c, p.order)
	}
	y, hn, cn := r.run(x, h, c)
	if p.order != nil {
		hn, cn = reorder(hn, inverse(p.order)), reorder(cn, inverse(p.order))
	}
	if r.Err != nil {
		return nil, r.Err
	}
	var state starlark.Value = r.E.Wrap(hn)
	if r.cell.two {
		state = starlark.Tuple{state, r.E.Wrap(cn)}
	}
	packed, err := packedOf(&r.OpChain, y, p.sizes, p.order)
	if err != nil {
		return nil, err
	}
	return starlark.Tuple{packed, state}, nil
}

// rows returns the rows lo to hi of x, or nil if it is.
func (r *recurrence) rows(x *tensor.Tensor, lo, hi int) *tensor.Tensor {
	if x == nil || r.Err != nil {
		return nil
	}
	return r.Do("narrow", []*tensor.Tensor{x}, op.Int1(0), op.Int1(lo), op.Int1(hi-lo))
}

// join returns x with y below, or nil if there is no x.
func (r *recurrence) join(list ...*tensor.Tensor) *tensor.Tensor {
	if list[0] == nil || r.Err != nil {
		return nil
	}
	return r.Do("cat", list, op.Int1(0))
}

// packedLayer is layer over packed sequences: each step is of those that have it. Forward
// the state of a sequence is put aside when it ends; backward, it joins when it begins.
func (r *recurrence) packedLayer(d *direction, h0, c0 *tensor.Tensor) (y, hn, cn *tensor.Tensor) {
	steps := make([]int, len(r.sizes)) // where each begins
	for t := range steps[1:] {
		steps[t+1] = steps[t] + r.sizes[t]
	}
	list := make([]*tensor.Tensor, len(steps))
	step := func(t int, h, c *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
		h, c = r.next(d, r.rows(d.in, steps[t], steps[t]+r.sizes[t]), h, c)
		list[t] = h
		return h, c
	}
	if d.back {
		n := r.sizes[len(steps)-1]
		h, c := r.rows(h0, 0, n), r.rows(c0, 0, n)
		for t := len(steps) - 1; t >= 0 && r.Err == nil; t-- {
			if more := r.sizes[t]; more > n {
				h, c = r.join(h, r.rows(h0, n, more)), r.join(c, r.rows(c0, n, more))
				n = more
			}
			h, c = step(t, h, c)
		}
		return r.join(list...), h, c
	}
	var hs, cs []*tensor.Tensor // of those that have ended, the first to end first
	h, c, n := h0, c0, r.sizes[0]
	for t := 0; t < len(steps) && r.Err == nil; t++ {
		if left := r.sizes[t]; left < n {
			hs, cs = append(hs, r.rows(h, left, n)), append(cs, r.rows(c, left, n))
			h, c, n = r.rows(h, 0, left), r.rows(c, 0, left), left
		}
		h, c = step(t, h, c)
	}
	hs, cs = append(hs, h), append(cs, c)
	slices.Reverse(hs)
	slices.Reverse(cs)
	return r.join(list...), r.join(hs...), r.join(cs...)
}
