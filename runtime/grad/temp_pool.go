package grad

import (
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A tempPool is the large storage that gradients of operators have made during a
// backward pass and that nothing else can see: what a gradient needed on the way,
// and what was added to something. It goes back as soon as no gradient under way
// lies in it, and not only with a collection.
//
// A tempPool is the Applier of the pass. The gradient of an operator keeps nothing
// and shows nothing to a script; where something else is given a tensor, a hook,
// a leaf, the gradient of a custom operation, its storage leaves the tempPool.
type tempPool struct {
	r    *Recorder
	uses map[*tensor.Buffer]int // gradients under way, by where they lie
	off  bool                   // what is made now is somebody else's
}

// Apply applies d, and notes what it makes. While a pass is recorded nothing is
// noted, since the record refers to all of it.
func (t *tempPool) Apply(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	out, err := t.r.Apply(d, in, args)
	if err == nil {
		t.note(out, in)
	}
	return out, err
}

// note notes what was made of in.
func (t *tempPool) note(out, in []*tensor.Tensor) {
	if t.off || t.r.Enabled() {
		return
	}
	for _, y := range out {
		if b := y.Buffer(); b.Pooled() && !lies(b, in) {
			if t.uses == nil {
				t.uses = map[*tensor.Buffer]int{}
			}
			t.uses[b] += 0
		}
	}
}

// Enabled reports whether operations are recorded.
func (t *tempPool) Enabled() bool { return t.r.Enabled() }

// lies reports whether one of list lies in b.
func lies(b *tensor.Buffer, list []*tensor.Tensor) bool {
	for _, x := range list {
		if x != nil && x.Buffer() == b {
			return true
		}
	}
	return false
}

// replace notes that the gradient now, and not was any more, is under way. Either
// may be nil.
func (t *tempPool) replace(was, now *tensor.Tensor) {
	if t.uses == nil {
		return
	}
	t.count(now, 1)
	t.count(was, -1)
}

func (t *tempPool) count(g *tensor.Tensor, n int) {
	if g == nil {
		return
	}
	if uses, ok := t.uses[g.Buffer()]; ok {
		t.uses[g.Buffer()] = uses + n
	}
}

// keep notes that somebody else may have g from now on.
func (t *tempPool) keep(g *tensor.Tensor) {
	if g != nil {
		delete(t.uses, g.Buffer())
	}
}

// clear gives back what no gradient under way lies in.
func (t *tempPool) clear() {
	for b, uses := range t.uses {
		if uses == 0 {
			b.Discard()
			delete(t.uses, b)
		}
	}
}
