package grad

import (
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// A Recorder applies the operators of one rank. It is not for use by several
// goroutines at a time.
type Recorder struct {
	Ctx *op.Ctx

	// Placed applies operators to placed tensors; nil if there are none.
	Placed Placer

	// Mark, if set, returns what is kept with the record of an operation that may
	// communicate in a backward pass, on placed tensors or of a program's own; Replay
	// is then called when one goes through it, until the function it returns is.
	Mark   func() any
	Replay func(mark any) (end func())
	// MarkAll has Mark be called of every operation.
	MarkAll bool

	// Types, if set, is asked what operators make of the types of local tensors.
	Types Typer

	autocast autocast // of the region at hand
	regather bool     // what is gathered is not kept: see SetAgain

	// Keep and Free, if set, are told of what is recorded and forgotten again: of a
	// node, what it refers to.
	Keep func(node any, lists ...[]*tensor.Tensor)
	Free func(node any)
	// Leaf is told of leaves that are no results of another stage, where Keep is set.
	Leaf func(x *tensor.Tensor)
	// Grown, if set, is told of a gradient that such a leaf gets, and of the one in whose place it is, nil for none.
	Grown func(g, before *tensor.Tensor)

	spare  *op.Call          // to be used again; nil for none
	hollow *tensor.Allocator // of tracers; nil before the first

	off int    // not 0 while recording is off
	seq uint64 // of the last node

	recomputing bool           // a checkpoint computes again
	passes      int            // backward passes under way, one inside another
	after       []func() error // to be called when the outermost has ended
	ending      bool           // they are being called
}

// AfterBackward has fn called when the backward pass under way has left its
// gradients in the leaves, before Backward returns.
func (r *Recorder) AfterBackward(fn func() error) { r.after = append(r.after, fn) }

// Ending reports whether what AfterBackward was given is being called.
func (r *Recorder) Ending() bool { return r.ending }

// A Placer applies operators to tensors of which ranks hold blocks, and moves
// such tensors.
type Placer interface {
	// Run makes the results of c, of whose inputs at least one is placed. It returns
	// the call to be recorded, which is c or of its own and nobody keeps; or only its results,
	// if they were made, and recorded, by other operators.
	Run(c *op.Call) (*op.Call, []*tensor.Tensor, error)
	// Check returns an error unless the in-place operator d can be run on in.
	Check(d *op.Def, in []*tensor.Tensor, args []op.Arg) error
	// GradLayout returns how the gradient of a tensor placed as l is to lie.
	GradLayout(l *mesh.Placed) *mesh.Placed
	// Move returns x placed as l, recorded.
	Move(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error)
	// Backward says that gradients are computed until the function it returns is
	// called.
	Backward() (end func())
}

// A Typer says what operators make of the types of local tensors (package spmdtype).
type Typer interface {
	// Infer returns the marks of the results of d on in: nil for none, and one if all have that. Of an
	// operator in place it gives what is written into its mark. Its errors are the program's.
	Infer(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*spmdtype.Mark, error)
	// Seed returns an error unless dy, nil for ones, is of the type that gradients of y are.
	Seed(y, dy *tensor.Tensor) error
}

// New returns a Recorder that applies operators in ctx.
func New(ctx *op.Ctx) *Recorder { return &Recorder{Ctx: ctx} }

// Enabled reports whether operations are recorded.
func (r *Recorder) Enabled() bool { return r.off == 0 }

// SetEnabled turns recording on or off and returns a function that restores
// what was.
func (r *Recorder) SetEnabled(on bool) (restore func()) {
	was := r.off
	r.off = 1
	if on {
		r.off = 0
	}
	return func() { r.off = was }
}

// Apply applies d and returns its results, recorded if an input requires grad.
func (r *Recorder) Apply(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	c, out, err := r.apply(nil, d, in, args)
	if c != nil {
		if len(out) == 1 {
			out = []*tensor.Tensor{out[0]} // not the call's own room
		}
		r.release(c)
	}
	return out, err
}

// ApplyOne is Apply of an operator of one result.
func (r *Recorder) ApplyOne(d *op.Def, in []*tensor.Tensor, args []op.Arg) (*tensor.Tensor, error) {
	return r.one(r.apply(nil, d, in, args))
}

// ApplyInto is ApplyOne with a result that lies in into or, if ranks hold it together, in placed,
// unless other operators make it.
func (r *Recorder) ApplyInto(d *op.Def, in []*tensor.Tensor, args []op.Arg, into *tensor.Header, placed *tensor.PlacedHeader) (*tensor.Tensor, error) {
	c := r.newCall()
	c.Into, c.IntoPlaced = into, placed
	return r.one(r.apply(c, d, in, args))
}

// Operate is ApplyInto with the operands x and, unless that is nil, y, and no other arguments. Their
// list is nobody's who is not recorded.
func (r *Recorder) Operate(d *op.Def, x, y *tensor.Tensor, into *tensor.Header, placed *tensor.PlacedHeader) (*tensor.Tensor, error) {
	c := r.newCall()
	c.Operands(x, y)
	c.Into, c.IntoPlaced = into, placed
	return r.one(r.apply(c, d, c.In, nil))
}

// one returns the one result of what apply has returned.
func (r *Recorder) one(c *op.Call, out []*tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	y := out[0]
	if c != nil {
		r.release(c)
	}
	return y, nil
}

// apply is Apply. c is the call to be made, in whose room in may lie, nil for any. It returns the call
// besides, in whose room the list of results may lie, if nobody keeps it.
func (r *Recorder) apply(c *op.Call, d *op.Def, in []*tensor.Tensor, args []op.Arg) (_ *op.Call, out []*tensor.Tensor, err error) {
	if r.autocast.on {
		if in, err = r.cast(d, in); err != nil {
			return nil, nil, err
		}
	}
	if op.AsRow(d, in) {
		out, err = op.OnRow(r, d, in, args)
		return nil, out, err
	}
	if d.Make != nil {
		if out, ok := r.fused(d, in, args); ok {
			return nil, out, nil
		}
		out, err = op.Make(r, r.Ctx, d, in, args)
		if err == nil && d.KeepsAny() && r.off == 0 {
			hold(d, in, out[0])
		}
		return nil, out, err
	}
	if op.AnyComplex(d, in, args) {
		if out, err := op.MakeComplex(r, r.Ctx, d, in, args); out != nil || err != nil {
			return nil, out, err
		}
	}
	if r.Types != nil {
		return r.typed(c, d, in, args)
	}
	requires, placed := false, false
	for _, x := range in {
		if x == nil {
			continue
		}
		r.Refresh(x)
		requires = requires || x.RequiresGrad()
		placed = placed || x.Placed()
	}
	if d.Before != nil {
		if err := r.before(d, in, args); err != nil {
			return nil, nil, err
		}
	}
	if d.InPlace {
		out, err = r.inPlace(d, in, args, requires)
		return nil, out, err
	}
	if c == nil {
		c = r.newCall()
	}
	c.Def, c.Ctx, c.In, c.Args = d, r.Ctx, in, args
	if placed {
		if c, out, err = r.Placed.Run(c); err != nil || c == nil {
			return nil, out, err
		}
	} else if err := c.Apply(); err != nil {
		return nil, nil, err
	}
	if d.View {
		linkViews(c)
	}
	if requires && r.off == 0 && d.Grad != nil {
		r.record(c)
		return nil, c.Out, nil
	}
	return c, c.Out, nil
}

// typed is apply of an operator that is not made of others, where types are on.
func (r *Recorder) typed(c *op.Call, d *op.Def, in []*tensor.Tensor, args []op.Arg) (*op.Call, []*tensor.Tensor, error) {
	for _, x := range in {
		if x != nil {
			r.Refresh(x)
		}
	}
	marks, err := r.Types.Infer(d, in, args)
	if err != nil {
		return nil, nil, err
	}
	defer r.Untyped()()
	c, out, err := r.apply(c, d, in, args)
	if err == nil && marks != nil {
		for i, y := range out {
			if y != nil && !y.Placed() {
				y.SetTyped(marks[min(i, len(marks)-1)])
			}
		}
	}
	return c, out, err
}

// Untyped turns types off until the function that it returns is called.
func (r *Recorder) Untyped() (restore func()) {
	types := r.Types
	r.Types = nil
	return func() { r.Types = types }
}

// before does, unrecorded, what d does before it is applied. Its errors are of d.
func (r *Recorder) before(d *op.Def, in []*tensor.Tensor, args []op.Arg) (err error) {
	c := &op.Call{Def: d, Ctx: r.Ctx, In: in, Args: args}
	if err := d.Infer(c); err != nil {
		return err
	}
	defer r.SetEnabled(false)()
	defer func() { err = op.Rename(d.Name, err) }()
	defer op.Recover(&err)
	d.Before(&op.Tape{A: r}, c)
	return nil
}

// invoke applies d, unrecorded. The call is nil if other operators made the results
// of placed tensors.
func (r *Recorder) invoke(d *op.Def, in []*tensor.Tensor, args []op.Arg) (*op.Call, []*tensor.Tensor, error) {
	if tensor.SomePlaced(in) {
		return r.Placed.Run(&op.Call{Def: d, Ctx: r.Ctx, In: in, Args: args})
	}
	c, err := op.Apply(r.Ctx, d, in, args)
	if err != nil {
		return nil, nil, err
	}
	return c, c.Out, nil
}

// newCall returns a call that nobody has, of which nothing is known.
func (r *Recorder) newCall() *op.Call {
	c := r.spare
	if c == nil {
		return new(op.Call)
	}
	r.spare = nil
	return c
}

// release keeps a call that is not recorded, to be used again where nobody else can have it.
func (r *Recorder) release(c *op.Call) {
	if !r.Ctx.Observed() {
		c.Forget()
		r.spare = c
	}
}

// linkViews tells the results of a view operator what they are views of.
func linkViews(c *op.Call) {
	x := c.In[0]
	base := x
	if x.Base != nil {
		base = x.Base
	}
	for _, y := range c.Out {
		if y != x && y.Buffer() == x.Buffer() && y.Buffer() != nil && !y.Copied {
			y.Base, y.Changes = base, base.Changes
		}
	}
}

// record makes a node of c and hangs it on c's results. Results that are not
// floats carry no gradient.
func (r *Recorder) record(c *op.Call) {
	n := newNode(c.Def.Name, len(c.In), len(c.Out))
	for i, x := range c.In {
		n.in[i] = edgeTo(x)
	}
	least := large
	if r.Keep != nil {
		least = 0 // who counts what is kept counts no more than that
	}
	n.call = c.Recorded(least)
	from := n.spare()
	n.noteVersions()
	if r.Mark != nil && (r.MarkAll || tensor.SomePlaced(c.In)) {
		n.mark = r.Mark()
	}
	r.attach(n, c.Out, r.Reserve())
	if r.Keep != nil {
		r.Keep(n, n.call.In, n.call.Out, n.call.Saved, from)
		for i := range n.in {
			if x := n.in[i].leaf; x != nil && !x.Auto.Passing {
				r.Leaf(x)
			}
		}
	}
}

// large is how many bytes a tensor has whose elements a record lets go of where no
// gradient reads them; of a smaller one that would cost more than it saves.
const large = 1 << 14

// Reserve takes the number of a node that is to be recorded later: an
// asynchronous operation stands in the record where it was issued.
func (r *Recorder) Reserve() uint64 {
	r.seq++
	return r.seq
}

// attach gives n its number and makes it the origin of out.
func (r *Recorder) attach(n *node, out []*tensor.Tensor, seq uint64) {
	n.seq = seq
	for i, y := range out {
		if y == nil {
			continue
		}
		n.out[i].dt, n.out[i].shape, n.out[i].layout = y.DType(), y.Shape(), y.Layout()
		if !y.DType().Differentiable() {
			continue
		}
		auto := &n.auto
		if i > 0 {
			auto = new(tensor.Auto)
		}
		*auto = tensor.Auto{Requires: true, Node: n, Index: i}
		y.Auto = auto
	}
}

// Backward turns the gradients of a custom operation's results (nil where
// none has arrived) into those of its inputs (nil where there is none).
type Backward func(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error)

// Custom records an operation that is not in the operator table: out was made
// from in, and back is its gradient. It records
// nothing while recording is off: see SetEnabled.
func (r *Recorder) Custom(name string, in, out []*tensor.Tensor, back Backward) {
	if r.off == 0 {
		r.CustomAt(r.Reserve(), name, in, out, false, back)
	}
}

// Conduct is Custom of an operation whose gradient keeps nothing of what it is
// given, and shows nothing of it to a script: it hands that on, or makes another.
func (r *Recorder) Conduct(name string, in, out []*tensor.Tensor, back Backward) {
	if r.off == 0 {
		r.ConductAt(r.Reserve(), name, in, out, back)
	}
}

// ConductAt is Conduct at a number that was reserved when recording was on.
func (r *Recorder) ConductAt(seq uint64, name string, in, out []*tensor.Tensor, back Backward) {
	r.custom(seq, name, in, out, false, true, back)
}

// CustomAt is Custom at a number that was reserved when recording was on.
// With always, out requires grad though no input does, and back runs whenever
// a backward pass can reach it: the operation communicates, and other ranks
// expect this one.
func (r *Recorder) CustomAt(seq uint64, name string, in, out []*tensor.Tensor, always bool, back Backward) {
	r.custom(seq, name, in, out, always, false, back)
}

// custom makes the node of CustomAt, or of Conduct.
func (r *Recorder) custom(seq uint64, name string, in, out []*tensor.Tensor, always, conducts bool, back Backward) {
	n := newNode(name, len(in), len(out))
	n.back, n.always, n.conducts = back, always, conducts
	if r.Mark != nil {
		n.mark = r.Mark()
	}
	live := always
	for i, x := range in {
		r.Refresh(x)
		n.in[i] = edgeTo(x)
		live = live || n.in[i].live()
	}
	if live {
		r.attach(n, out, seq)
		if r.Keep != nil && !n.conducts {
			r.Keep(n, in, out)
		}
	}
}

// OnGrad calls hook with the gradient of x whenever a backward pass has
// computed it. x requires grad.
func OnGrad(x *tensor.Tensor, hook tensor.Hook) {
	if n, ok := x.Auto.Node.(*node); ok {
		n.out[x.Auto.Index].typed = x.Typed()
		n.out[x.Auto.Index].hooks = append(n.out[x.Auto.Index].hooks, hook)
		return
	}
	x.Auto.Hooks = append(x.Auto.Hooks, hook)
}

// IsLeaf reports whether x was not made by a recorded operation.
func IsLeaf(x *tensor.Tensor) bool { return x.Auto == nil || x.Auto.Node == nil }

// Recomputing reports whether a checkpoint computes again, in a backward pass.
func (r *Recorder) Recomputing() bool { return r.recomputing }
