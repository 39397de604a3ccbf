package optest

import (
	"fmt"
	"testing"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A view of a placed tensor that is changed in place changes the tensor, and
// gradients know; or it is a copy, and says so on every rank.
func TestPlacedViews(t *testing.T) {
	var all tally
	for _, g := range []ring{{sizes: []int{2}}, {sizes: []int{3}}, {sizes: []int{2, 2}}} {
		all.add(runCases(t, g, func(d *op.Def) []*ringCase {
			if !d.View {
				return nil
			}
			var list []*ringCase
			for i, ex := range examples[d.Name] {
				pt := newViewTrial(d, ex)
				if pt == nil {
					continue
				}
				for _, pc := range sampleCases(pt, g, uint64(i), limit(20, 200)) {
					pc.act = (*performance).changeView
					list = append(list, pc)
				}
			}
			return list
		}))
	}
	t.Logf("%v", all)
}

// newViewTrial returns the trial in which the last view that ex makes is
// multiplied by 3: want[0] is what it was made of then. It returns nil if ex has
// no such view.
func newViewTrial(d *op.Def, ex example) *ringTrial {
	tr := newTrial(d, ex, dtype.Float64)
	if _, err := tr.apply(); err != nil || len(tr.in) != 1 {
		return nil
	}
	pt := &ringTrial{trial: tr, inexact: 64 * roundoff(dtype.Float64)}
	leaf := packed(tr.in[0])
	leaf.Auto = &tensor.Auto{Requires: true}
	rec := grad.New(newCtx())
	err := caught(func() {
		base := tripled(rec, tr, leaf)
		if err := rec.Backward(base, upstream(0, base), false); err != nil {
			panic(err)
		}
		pt.want, pt.grads = []*tensor.Tensor{base.Detach()}, []*tensor.Tensor{leaf.Auto.Grad}
	})
	if err != nil { // a view that repeats elements cannot be changed
		return nil
	}
	return pt
}

// tripled returns a copy of x of which the last view that tr makes is multiplied
// by 3. It panics with an error.
func tripled(rec *grad.Recorder, tr *trial, x *tensor.Tensor) *tensor.Tensor {
	base := mustApply(rec, "clone", []*tensor.Tensor{x})
	out, err := rec.Apply(tr.d, []*tensor.Tensor{base}, tr.args)
	if err != nil {
		panic(err)
	}
	mustApply(rec, "mul_", []*tensor.Tensor{out[len(out)-1], tensor.Number(3.0)})
	return base
}

// changeView changes a view of a placed tensor, and compares the tensor, and the
// gradient of what it was copied from, with those of a plain one.
func (p *performance) changeView() error {
	leaf, err := p.placed(p.c.tr.in[0], p.c.place[0], 0)
	if err != nil {
		return err
	}
	leaf.Auto = &tensor.Auto{Requires: true}
	base, err := p.r.Do("clone", []*tensor.Tensor{leaf})
	if err != nil {
		return err
	}
	out, err := p.r.Apply(p.c.tr.d, []*tensor.Tensor{base}, p.c.tr.args)
	if err != nil {
		return fmt.Errorf("the view: %w", err)
	}
	view := out[len(out)-1]
	p.lies = append(p.lies, view.Layout().String())
	if _, err := p.r.Do("mul_", []*tensor.Tensor{view, tensor.Number(3.0)}); err != nil {
		if !view.Copied && linear(view.Layout()) {
			return fmt.Errorf("of a view that is none of a copy: %v", err)
		}
		return err
	}
	want := p.c.tr.want[0]
	if err := p.compare("what the view shows", base, want, p.c.tr.near(want)); err != nil {
		return err
	}
	dy, err := p.placed(upstream(0, base), p.c.place[0], 5)
	if err != nil {
		return err
	}
	if err := p.r.Tape.Backward(base, dy, false); err != nil {
		return fmt.Errorf("backward: %v", err)
	}
	return p.checkGradient("the gradient", leaf, leaf.Auto.Grad, p.c.tr.grads[0])
}

// linear reports whether l has no terms but those of sums and means.
func linear(l *mesh.Placed) bool {
	for _, p := range l.Placements() {
		if by, ok := p.Partial(); ok && by != mesh.Sum && by != mesh.Mean {
			return false
		}
	}
	return true
}
