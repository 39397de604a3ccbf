package grad

import (
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// An again is how to make once more what records do not keep: they share one for
// each tensor.
type again struct {
	from     *tensor.Tensor // what it is made of, which is kept
	versions [2]uint32      // of the buffers of from and of the tensor when it was made
	move     func() (*tensor.Tensor, error)

	records int            // that still want it
	made    *tensor.Tensor // while a backward pass has it
}

// SetAgain has what is gathered, and what gradients read, made again in a backward pass
// instead of kept, or not, and returns a function that restores what was.
func (r *Recorder) SetAgain(on bool) (restore func()) {
	was := r.regather
	r.regather = on
	return func() { r.regather = was }
}

// Moved records that y, a result of Conduct, was made of x by move, which makes it
// again. Records of what is computed with y keep x if that is what SetAgain says and y
// takes more memory.
func (r *Recorder) Moved(x, y *tensor.Tensor, move func() (*tensor.Tensor, error)) {
	if !r.regather || y.Auto == nil || y.Buffer() == nil || x.Buffer() == nil || y.Buffer().Len() <= x.Buffer().Len() {
		return
	}
	y.Auto.Again = &again{from: x, versions: [2]uint32{x.Buffer().Version(), y.Buffer().Version()}, move: move}
}

// againOf returns how x is made again, nil if it is to be kept.
func againOf(x *tensor.Tensor) *again {
	if x == nil || x.Auto == nil || x.Buffer() == nil {
		return nil
	}
	a, ok := x.Auto.Again.(*again)
	if !ok || x.Buffer().Version() != a.versions[1] {
		return nil
	}
	return a
}

// spare has n keep shapes of those inputs of its call that can be made again, and
// returns what is kept for that.
func (n *node) spare() (from []*tensor.Tensor) {
	for i, x := range n.call.In {
		a := againOf(x)
		if a == nil {
			continue
		}
		if n.again == nil {
			n.call = n.call.With(n.call.In, n.call.Out)
			n.again = make([]*again, len(n.call.In))
		}
		n.again[i] = a
		n.call.In[i] = x.ShapeOnly()
		a.records++
		from = append(from, a.from)
	}
	return from
}

// remade returns c, n's call, with the inputs that are made again: all, or those that its gradient reads.
func (p *pass) remade(n *node, c *op.Call, read bool) (*op.Call, error) {
	fresh := *c
	fresh.In = clone(c.In)
	for i, a := range n.again {
		if a == nil || read && !c.ReadsIn(i) {
			continue
		}
		x, err := p.r.make(a)
		if err != nil {
			return nil, err
		}
		y := *x
		y.Auto = c.In[i].Auto
		fresh.In[i] = &y
	}
	return &fresh, nil
}

// make returns what a makes, and keeps it until the last record that wants it has it.
func (r *Recorder) make(a *again) (*tensor.Tensor, error) {
	if a.from.Buffer().Version() != a.versions[0] {
		return nil, &op.ArgError{Func: "backward", Got: "a tensor needed to gather again what regather has not kept, that was changed in place", Want: "it as it was", Rule: "clone it before the change"}
	}
	x := a.made
	if x == nil {
		restore := r.SetEnabled(false)
		var err error
		x, err = a.move()
		restore()
		if err != nil {
			return nil, err
		}
	}
	a.records--
	switch {
	case a.records > 0 && a.made == nil:
		a.made = x
		if r.Keep != nil {
			r.Keep(a, []*tensor.Tensor{x})
		}
	case a.records <= 0 && a.made != nil:
		a.made = nil
		if r.Free != nil {
			r.Free(a)
		}
	}
	return x, nil
}
