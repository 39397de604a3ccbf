package grad

import (
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// A node is the record of one operation: how the gradients of its results
// become those of its inputs.
type node struct {
	seq  uint64
	name string
	in   []edge
	out  []result

	call     *op.Call // of an operator; nil if back is set
	versions []uint32 // of the buffers of call.In, call.Out and call.Saved
	again    []*again // by input: how it is made again; nil if none is
	held     []held   // of the last operator of a composite

	mark any // where the program was, if somebody wants to know

	back     Backward // of a custom node
	always   bool     // run even if no gradient has arrived: the node communicates
	conducts bool     // see Recorder.Conduct
	// halve, of a checkpoint, is back for the inputs to which leads says that an edge leads; the rest is done later.
	halve func(dy []*tensor.Tensor, leads func(e *edge) bool) (rest *halves, dx []*tensor.Tensor, err error)
	sole  []bool // of a checkpoint that was run backwards: the gradients whose storage nobody else sees

	// Room for what most nodes need, so that a node is one allocation.
	in2       [2]edge
	out1      [1]result
	versions3 [3]uint32
	auto      tensor.Auto // of the first result
}

// newNode returns a node of ins inputs and outs results.
func newNode(name string, ins, outs int) *node {
	n := &node{name: name}
	n.in, n.out = sized(n.in2[:], ins), sized(n.out1[:], outs)
	return n
}

// sized returns a slice of k elements: of room if they fit.
func sized[T any](room []T, k int) []T {
	if k <= len(room) {
		return room[:k]
	}
	return make([]T, k)
}

// IsNode marks node as a tensor.Node.
func (*node) IsNode() {}

// An edge says where the gradient of an input goes: to a result of another
// node, or to a leaf. Both are nil if nowhere.
type edge struct {
	node   *node
	index  int
	leaf   *tensor.Tensor
	dt     dtype.DType
	shape  shape.Shape
	layout *mesh.Placed // nil if the input is plain
}

// live reports whether a gradient is wanted along e.
func (e *edge) live() bool { return e.node != nil || e.leaf != nil }

// A result is what a node keeps of one of its results.
type result struct {
	dt     dtype.DType
	shape  shape.Shape
	layout *mesh.Placed // nil if the result is plain
	hooks  []tensor.Hook
	typed  *spmdtype.Mark // nil if it had none when a hook was hung on it
}

// edgeTo returns the edge to x as it is recorded now.
func edgeTo(x *tensor.Tensor) edge {
	if x == nil || !x.RequiresGrad() {
		return edge{}
	}
	e := edge{dt: x.DType(), shape: x.Shape(), layout: x.Layout()}
	if n, ok := x.Auto.Node.(*node); ok {
		e.node, e.index = n, x.Auto.Index
	} else {
		e.leaf = x
	}
	return e
}

// saved calls f for every tensor that n keeps for its gradient.
func (n *node) saved(f func(i int, p **tensor.Tensor)) {
	i := 0
	for _, list := range [][]*tensor.Tensor{n.call.In, n.call.Out, n.call.Saved} {
		for j := range list {
			f(i, &list[j])
			i++
		}
	}
}

// noteVersions records the state of the buffers that n's gradient may read.
func (n *node) noteVersions() {
	n.versions = n.versions3[:0]
	n.saved(func(_ int, p **tensor.Tensor) {
		v := uint32(0)
		if *p != nil && (*p).Buffer() != nil {
			v = (*p).Buffer().Version()
		}
		n.versions = append(n.versions, v)
	})
}

// withoutStale returns n's call with those tensors made shape-only whose
// elements have changed since they were recorded. A gradient that needs only
// their shapes goes on; one that needs the elements comes out shape-only, and
// that is how the change is noticed.
func (n *node) withoutStale() (c *op.Call, stale bool) {
	n.saved(func(i int, p **tensor.Tensor) {
		if *p != nil && (*p).Buffer() != nil && (*p).Buffer().Version() != n.versions[i] {
			stale = true
		}
	})
	if !stale {
		return n.call, false
	}
	fresh := *n.call
	fresh.In = clone(fresh.In)
	fresh.Out = clone(fresh.Out)
	fresh.Saved = clone(fresh.Saved)
	m := node{call: &fresh}
	m.saved(func(i int, p **tensor.Tensor) {
		if *p != nil && (*p).Buffer() != nil && (*p).Buffer().Version() != n.versions[i] {
			*p = (*p).ShapeOnly()
		}
	})
	return &fresh, true
}

// A held is storage that must be as it was, though no record of an operator keeps it.
type held struct {
	composite string // whose gradient it is that needs it
	changes   *uint32
	was       uint32
}

// hold has the record of y, what d has made of in one operator after another, hold the operands that d Keeps.
func hold(d *op.Def, in []*tensor.Tensor, y *tensor.Tensor) {
	n := edgeTo(y).node
	if n == nil {
		return
	}
	requires := func(i int) bool { return in[i] != nil && in[i].RequiresGrad() }
	for i, x := range in {
		if x != nil && !x.Weak() && x.Buffer() != nil && d.Keeps(i, requires) {
			changes := x.Buffer().Watch()
			n.held = append(n.held, held{d.Name, changes, *changes})
		}
	}
}

// heldChanged returns an error if what n holds has changed.
func (n *node) heldChanged() error {
	for _, h := range n.held {
		if *h.changes != h.was {
			return changedInPlace(h.composite)
		}
	}
	return nil
}

func clone(list []*tensor.Tensor) []*tensor.Tensor {
	return append([]*tensor.Tensor(nil), list...)
}
