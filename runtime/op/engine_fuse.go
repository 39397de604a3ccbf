package op

import (
	goruntime "runtime"
	"sync/atomic"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// This file runs elementwise operators that belong together in one pass over large
// tensors: those that a composite is made of which is Pointwise, or its gradient. Which
// they are is found out once, on tensors without elements (package grad does that).
// Then they are run one after the other on a block of each tensor, and on the next
// block: what they make on the way stays in a near cache and takes no memory. The
// kernels are those of the operators, and so are the bits.

// fusedBlock is how many elements a block has at most: some blocks of 4 bytes an
// element fit the second-level cache.
const fusedBlock = 4096

// A Fused is calls of elementwise operators that are run together, block by block.
type Fused struct {
	shape shape.Shape
	steps []fusedStep
	temps []dtype.DType // of the blocks that are made on the way
	out   []fusedOperand
	reads []bool // which inputs
}

// A fusedStep is one call.
type fusedStep struct {
	def  *Def
	args []Arg
	in   []fusedOperand
	out  fusedOperand
}

// A fusedOperand is what a step reads or makes.
type fusedOperand struct {
	kind fusedKind
	at   int            // which input, result or block
	dt   dtype.DType    // of a result
	x    *tensor.Tensor // a number
}

type fusedKind uint8

const (
	fusedNone fusedKind = iota // an optional input that was not given
	fusedNumber
	fusedInput
	fusedResult
	fusedTemp
)

// Fuse returns the calls that make out of in, both hollow: of what was applied those that it
// takes. Every tensor of in and out has shape s, or in one element; a nil one is none. It
// reports false if one of the calls is not elementwise, or of other shapes.
func Fuse(applied []*Call, in, out []*tensor.Tensor, s shape.Shape) (*Fused, bool) {
	f := &fuser{Fused: Fused{shape: s, reads: make([]bool, len(in)), out: make([]fusedOperand, len(out))},
		known: map[*tensor.Buffer]fusedOperand{}, results: map[*tensor.Buffer]fusedOperand{}}
	for i, x := range in {
		if x != nil {
			f.known[x.Buffer()] = fusedOperand{kind: fusedInput, at: i}
		}
	}
	for i, y := range out {
		if y == nil {
			continue
		}
		if y.Buffer() == nil {
			return nil, false
		}
		if _, twice := f.results[y.Buffer()]; !twice {
			f.results[y.Buffer()] = fusedOperand{kind: fusedResult, at: i, dt: y.DType()}
		}
	}
	calls := f.needed(applied)
	for i, c := range calls {
		if !f.add(i, c) {
			return nil, false
		}
	}
	for i, y := range out {
		if y == nil {
			continue
		}
		o, made := f.known[y.Buffer()]
		if !made {
			return nil, false
		}
		f.out[i] = o
	}
	return &f.Fused, true
}

// A fuser makes a Fused. Tensors are known by their storage.
type fuser struct {
	Fused
	known   map[*tensor.Buffer]fusedOperand // what there is so far
	results map[*tensor.Buffer]fusedOperand
	last    map[*tensor.Buffer]int // which call is the last to read it
	free    []int                  // blocks that no further call reads
}

// needed returns those calls that the results depend on, and finds what is read last where.
func (f *fuser) needed(applied []*Call) []*Call {
	wanted := map[*tensor.Buffer]bool{}
	for b := range f.results {
		wanted[b] = true
	}
	first := len(applied)
	calls := make([]*Call, first)
	for i := first - 1; i >= 0; i-- {
		c := applied[i]
		if len(c.Out) != 1 || !wanted[c.Out[0].Buffer()] {
			continue
		}
		first--
		calls[first] = c
		for _, x := range c.In {
			if x != nil {
				wanted[x.Buffer()] = true
			}
		}
	}
	calls = calls[first:]
	f.last = map[*tensor.Buffer]int{}
	for i, c := range calls {
		for _, x := range c.In {
			if x != nil {
				f.last[x.Buffer()] = i
			}
		}
	}
	return calls
}

// add makes a step of call i, which is c.
func (f *fuser) add(i int, c *Call) bool {
	y := c.Out[0]
	if !c.Def.Pointwise || !y.Shape().Equal(f.shape) {
		return false
	}
	s := fusedStep{def: c.Def, args: c.Args}
	for _, x := range c.In {
		o, ok := f.operand(x)
		if !ok {
			return false
		}
		s.in = append(s.in, o)
	}
	s.out = f.place(y)
	f.known[y.Buffer()] = s.out
	f.steps = append(f.steps, s)
	for _, x := range c.In {
		if x == nil || f.last[x.Buffer()] != i {
			continue
		}
		if o := f.known[x.Buffer()]; o.kind == fusedTemp {
			f.free = append(f.free, o.at)
			f.last[x.Buffer()] = -1
		}
	}
	return true
}

// operand returns where x lies, which a call reads.
func (f *fuser) operand(x *tensor.Tensor) (fusedOperand, bool) {
	if x == nil {
		return fusedOperand{}, true
	}
	o, ok := f.known[x.Buffer()]
	if !ok {
		return fusedOperand{kind: fusedNumber, x: x}, x.Weak() && !x.Hollow()
	}
	if o.kind == fusedInput {
		f.reads[o.at] = true
	}
	return o, x.Numel() == 1 || x.Shape().Equal(f.shape)
}

// place returns where y is to be made.
func (f *fuser) place(y *tensor.Tensor) fusedOperand {
	if o, ok := f.results[y.Buffer()]; ok {
		return o
	}
	for i, t := range f.free {
		if f.temps[t] == y.DType() {
			f.free = append(f.free[:i], f.free[i+1:]...)
			return fusedOperand{kind: fusedTemp, at: t}
		}
	}
	f.temps = append(f.temps, y.DType())
	return fusedOperand{kind: fusedTemp, at: len(f.temps) - 1}
}

// Reads reports whether f reads elements of input i.
func (f *Fused) Reads(i int) bool { return f.reads[i] }

// Own reports whether result i has storage of its own: it is neither an input nor another
// result.
func (f *Fused) Own(i int) bool { return f.out[i].kind == fusedResult && f.out[i].at == i }

// OnePass returns what d, a composite that is Pointwise, makes of in, whose shape is s, by the kernel
// that it has for that; false if it has none.
func OnePass(ctx *Ctx, d *Def, in []*tensor.Tensor, args []Arg, s shape.Shape) (*tensor.Tensor, bool) {
	if d.onePass == nil {
		return nil, false
	}
	elements := make([][]float32, len(in))
	for i, x := range in {
		if x == nil || x.Weak() && d.takesNumber(i) {
			continue
		}
		if x.Weak() || x.DType() != dtype.Float32 || !x.Contiguous() || !x.Shape().Equal(s) || x.Buffer().Dropped() {
			return nil, false
		}
		elements[i], _ = direct[float32](x)
	}
	store := d.onePass(&Call{Def: d, Ctx: ctx, In: in, Args: args}, elements)
	if store == nil {
		return nil, false
	}
	y, err := tensor.New(ctx.Alloc, dtype.Float32, s)
	if err != nil {
		return nil, false
	}
	store(tensor.Data[float32](y))
	goruntime.KeepAlive(in)
	goruntime.KeepAlive(y)
	return y, true
}

// takesNumber reports whether tensor parameter i may be a number.
func (d *Def) takesNumber(i int) bool {
	p := d.InParam(i)
	return p != nil && (p.Kind == Operand || p.Kind == OptOperand)
}

// InOneRun reports whether the elements of x lie as Run takes them: in order, or all in one
// place.
func InOneRun(x *tensor.Tensor) bool {
	if x.Contiguous() {
		return true
	}
	for d, n := range x.Shape() {
		if n > 1 && x.Strides()[d] != 0 {
			return false
		}
	}
	return true
}

// Run returns the results of f for in, which are like the tensors that Fuse was given; each
// is InOneRun. A result that is nil there is nil.
func (f *Fused) Run(ctx *Ctx, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := restore(in); err != nil {
		return nil, err
	}
	results := make([]*tensor.Tensor, len(f.out))
	for i, o := range f.out {
		if !f.Own(i) {
			continue
		}
		y, err := tensor.New(ctx.Alloc, o.dt, f.shape)
		if err != nil {
			return nil, err
		}
		results[i] = y
	}
	for i, o := range f.out {
		switch {
		case o.kind == fusedInput:
			results[i] = in[o.at]
		case o.kind == fusedResult:
			results[i] = results[o.at]
		}
	}
	n := f.shape.Numel()
	var failed atomic.Pointer[error]
	ctx.Workers.Split(n, leastFused, func(lo, hi int) {
		r := fusedRun{Fused: f, in: in, out: results}
		if err := r.blocks(ctx, lo, hi); err != nil {
			failed.Store(&err)
		}
	})
	goruntime.KeepAlive(in)
	goruntime.KeepAlive(results)
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return results, nil
}

// leastFused is how many elements a part has that runs on a core of its own.
const leastFused = 8 * fusedBlock

// A fusedRun is a run of a Fused on some elements, with calls and blocks between steps of its own.
type fusedRun struct {
	*Fused
	in, out, temps []*tensor.Tensor
	calls          []Call // by step
}

// blocks runs all steps on elements lo to hi, block by block.
func (r *fusedRun) blocks(ctx *Ctx, lo, hi int) error {
	defer r.discard()
	for _, dt := range r.Fused.temps {
		t, err := tensor.New(ctx.Alloc, dt, shape.Shape{min(hi-lo, fusedBlock)})
		if err != nil {
			return err
		}
		r.temps = append(r.temps, t)
	}
	r.calls = make([]Call, len(r.steps))
	for i, s := range r.steps {
		r.calls[i] = Call{Def: s.def, Args: s.args, In: make([]*tensor.Tensor, len(s.in)), Ctx: ctx}
	}
	for ; lo < hi; lo += fusedBlock {
		if err := r.block(lo, min(lo+fusedBlock, hi)); err != nil {
			return err
		}
	}
	return nil
}

// discard gives back the blocks between steps.
func (r *fusedRun) discard() {
	for _, t := range r.temps {
		t.Buffer().Discard()
	}
}

// block runs all steps on elements lo to hi.
func (r *fusedRun) block(lo, hi int) error {
	s := shape.Shape{hi - lo}
	in, out, temps := blocksOf(r.in, s, lo), blocksOf(r.out, s, lo), blocksOf(r.temps, s, 0)
	at := func(o fusedOperand) *tensor.Tensor {
		switch o.kind {
		case fusedNumber:
			return o.x
		case fusedInput:
			return in[o.at]
		case fusedResult:
			return out[o.at]
		case fusedTemp:
			return temps[o.at]
		}
		return nil
	}
	for i := range r.steps {
		step, c := &r.steps[i], &r.calls[i]
		for j, o := range step.in {
			c.In[j] = at(o)
		}
		c.MakeOut(1)
		y := at(step.out)
		c.Out[0] = y
		c.Result(y.DType(), s)
		if c.Def.View { // a conversion
			copyInto(y, c.In[0])
			continue
		}
		if err := c.Def.Run(c); err != nil {
			return err
		}
	}
	return nil
}

// blocksOf returns the elements of list from lo on, as many as s says, in its shape; of a
// tensor that is one element throughout that.
func blocksOf(list []*tensor.Tensor, s shape.Shape, lo int) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(list))
	for i, x := range list {
		switch {
		case x == nil || x.Weak():
			out[i] = x
		case x.Numel() == 1 || !x.Contiguous():
			out[i] = x.View(shape.Shape{}, nil, x.Offset())
		default:
			out[i] = x.View(s, []int{1}, x.Offset()+lo)
		}
	}
	return out
}
