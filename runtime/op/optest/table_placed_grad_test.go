package optest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// varies reports whether input i gets a gradient in cases that have some.
func (pt *ringTrial) varies(i int) bool {
	x := pt.in[i]
	return x != nil && !x.Weak() && x.DType().IsFloat() && !pt.ex.fixed[i] && !pt.ex.writes[i]
}

// addGradients sets the gradients of the inputs, from those of the results that
// upstream gives, if the operator has gradients in dt.
func (pt *ringTrial) addGradients(dt dtype.DType) {
	if dt != dtype.Float64 && dt != dtype.Float32 || !differentiable(pt.d, pt.ex, dtype.Float64) {
		return
	}
	err := caught(func() {
		rec := grad.New(newCtx())
		leaves := pt.leaves()
		out := pt.recorded(rec, leaves)
		grads := make([]*tensor.Tensor, len(leaves))
		for k, y := range out {
			if !y.DType().IsFloat() || !y.RequiresGrad() {
				continue
			}
			if err := rec.Backward(y, upstream(k, y), false); err != nil {
				panic(err)
			}
		}
		for i, x := range leaves {
			if x != nil && x.Auto != nil {
				grads[i] = x.Auto.Grad
			}
		}
		pt.grads = grads
	})
	if err == nil && dt == dtype.Float64 && !slices.ContainsFunc(pt.in, func(x *tensor.Tensor) bool { return x != nil && x.DType() == dtype.Float32 }) {
		pt.addSecond()
	}
}

// leaves returns copies of the inputs that require grad where they get one.
func (pt *ringTrial) leaves() []*tensor.Tensor {
	leaves := slices.Clone(pt.in)
	for i, x := range leaves {
		if x == nil || x.Weak() {
			continue
		}
		leaves[i] = packed(x)
		if pt.varies(i) {
			leaves[i].Auto = &tensor.Auto{Requires: true}
		}
	}
	return leaves
}

// recorded applies the operator to leaves, a copy of the target if it is one in
// place. It panics with the error.
func (pt *ringTrial) recorded(rec *grad.Recorder, leaves []*tensor.Tensor) []*tensor.Tensor {
	in := slices.Clone(leaves)
	if pt.d.InPlace {
		in[0] = mustApply(rec, "clone", in[:1])
	}
	out, err := rec.Apply(pt.d, in, pt.args)
	if err != nil {
		panic(err)
	}
	return out
}

func mustApply(rec *grad.Recorder, name string, in []*tensor.Tensor, args ...op.Arg) *tensor.Tensor {
	out, err := rec.Apply(op.Lookup(name), in, args)
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	return out[0]
}

// upstream returns the gradient that result k, like y, gets: plain.
func upstream(k int, y *tensor.Tensor) *tensor.Tensor {
	return unit(y.Shape()...).make(testAlloc, y.DType(), k+3)
}

// checkGradients runs the call backwards from gradients placed in some way, and
// compares what the inputs get.
func (p *performance) checkGradients(leaves, out []*tensor.Tensor) error {
	rng := rand.New(rand.NewPCG(p.c.seed, 1))
	for k, y := range out {
		if !y.DType().IsFloat() || !y.RequiresGrad() {
			continue
		}
		dy, err := p.placed(upstream(k, y), p.somehow(rng, y), k)
		if err != nil {
			return err
		}
		if err := p.r.Tape.Backward(y, dy, false); err != nil {
			return fmt.Errorf("backward: %w", err)
		}
	}
	for i, x := range leaves {
		if x == nil || x.Auto == nil {
			continue
		}
		if err := p.checkGradient(fmt.Sprintf("gradient of input %d", i), x, x.Auto.Grad, p.c.tr.grads[i]); err != nil {
			return err
		}
	}
	return nil
}

// somehow returns placements for the gradient of y.
func (p *performance) somehow(rng *rand.Rand, y *tensor.Tensor) []mesh.Placement {
	list := make([]mesh.Placement, p.m.NDim())
	for i := range list {
		switch k := rng.IntN(4); {
		case k == 0:
			list[i] = mesh.Partial(mesh.Sum)
		case k == 1 || y.Ndim() == 0:
			list[i] = mesh.Replicate()
		default:
			list[i] = mesh.Shard(rng.IntN(y.Ndim()))
		}
	}
	return list
}

// checkGradient compares g, the gradient of the leaf x, with want. No gradient
// is zero; a rank outside the mesh need not have one.
func (p *performance) checkGradient(what string, x, g, want *tensor.Tensor) error {
	if !p.member() && (g == nil || !x.Placed()) {
		return nil
	}
	if want == nil {
		want = zerosLike(x)
	}
	if g == nil {
		if slices.ContainsFunc(list(want), func(v float64) bool { return v != 0 }) {
			p.fail("%s is none, want %v", what, list(want))
		}
		return nil
	}
	if g.DType() != x.DType() || !g.Shape().Equal(x.Shape()) || g.Placed() != x.Placed() {
		p.fail("%s is %v, of %v", what, op.Describe(g), op.Describe(x))
		return nil
	}
	if x.Placed() {
		if l := p.r.Shard.GradLayout(x.Layout()); !g.Layout().Equal(l) {
			p.fail("%s lies as %v, want %v", what, g.Layout(), l)
			return nil
		}
		what += " as " + mesh.List(g.Layout().Placements())
	}
	return p.compare(what, g, want, 16*p.c.tr.near(want))
}

// addSecond sets the second gradients: those of a weighted sum of the gradients
// of a weighted sum of the results.
func (pt *ringTrial) addSecond() {
	var second []*tensor.Tensor
	err := caught(func() {
		rec := grad.New(newCtx())
		leaves := pt.leaves()
		second = pt.twice(rec, leaves)
	})
	if err == nil {
		pt.second = second
	}
}

// twice returns the second gradients of leaves, by input. It panics with an
// error.
func (pt *ringTrial) twice(rec *grad.Recorder, leaves []*tensor.Tensor) []*tensor.Tensor {
	loss := pt.weigh(rec, pt.recorded(rec, leaves), 3)
	var vars []*tensor.Tensor
	for i, x := range leaves {
		if x != nil && pt.varies(i) {
			vars = append(vars, x)
		}
	}
	second := make([]*tensor.Tensor, len(leaves))
	if loss == nil || len(vars) == 0 {
		return second
	}
	grads, err := rec.Grad([]*tensor.Tensor{loss}, vars, true)
	if err != nil {
		panic(err)
	}
	dot := pt.weigh(rec, grads, 1)
	if dot == nil {
		return second
	}
	list, err := rec.Grad([]*tensor.Tensor{dot}, vars, false)
	if err != nil {
		panic(err)
	}
	k := 0
	for i, x := range leaves {
		if x != nil && pt.varies(i) {
			second[i] = list[k]
			k++
		}
	}
	return second
}

// weigh returns the sum of those of list that require grad times plain weights;
// nil if none does.
func (pt *ringTrial) weigh(rec *grad.Recorder, list []*tensor.Tensor, salt int) *tensor.Tensor {
	var sum *tensor.Tensor
	for k, y := range list {
		if y == nil || !y.RequiresGrad() {
			continue
		}
		w := unit(y.Shape()...).make(testAlloc, y.DType(), k+salt)
		part := mustApply(rec, "sum", []*tensor.Tensor{mustApply(rec, "mul", []*tensor.Tensor{y, w})}, op.None, op.Bool1(false))
		if sum == nil {
			sum = part
		} else {
			sum = mustApply(rec, "add", []*tensor.Tensor{sum, part})
		}
	}
	return sum
}

// checkSecond compares the second gradients.
func (p *performance) checkSecond() error {
	p.r.SetRNG(7, 1)
	var leaves []*tensor.Tensor
	for i, x := range p.c.tr.in {
		y, err := p.input(i, x)
		if err != nil {
			return err
		}
		leaves = append(leaves, y)
	}
	for i, g := range p.c.tr.twice(p.r.Tape, leaves) {
		if leaves[i] == nil || !p.c.tr.varies(i) {
			continue
		}
		if err := p.checkGradient(fmt.Sprintf("second gradient of input %d", i), leaves[i], g, p.c.tr.second[i]); err != nil {
			return err
		}
	}
	return nil
}
