package optest

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The costs of operators are compared with what plain loops count: each loop
// says of one operation, or one element that it reads or writes, that there is
// one. The loops of costLoops are those of the operators whose entry has a cost;
// the loop of an operator without stands in familyLoop. A new operator with a
// cost needs a loop, and one without is held to that of its family.

// A count is what a loop has counted.
type count struct{ flops, read, written, fmas int64 }

// op counts an operation, and fma a multiplication and an addition.
func (k *count) op() { k.flops++ }
func (k *count) fma() {
	k.fmas++
	k.flops += 2
}

// times calls f n times.
func times(n int, f func()) {
	for range n {
		f()
	}
}

// ops counts n operations for each of m elements.
func (k *count) ops(m, n int) { times(m, func() { times(n, k.op) }) }

// load counts the reading of one element of x, and loads that of all elements of
// tensors; None and numbers are no memory.
func (k *count) load(x *tensor.Tensor) { k.read += int64(x.DType().Size()) }
func (k *count) loads(list ...*tensor.Tensor) {
	for _, x := range list {
		if x != nil && !x.Weak() {
			times(x.Numel(), func() { k.load(x) })
		}
	}
}

// stores counts the writing of all results, or of what c changes.
func (k *count) stores(c *op.Call) {
	if c.Def.InPlace {
		for _, x := range c.In[:max(c.Def.Writes, 1)] {
			times(x.Numel(), func() { k.written += int64(x.DType().Size()) })
		}
		return
	}
	for _, s := range c.Spec {
		times(s.Shape.Numel(), func() { k.written += int64(s.DType.Size()) })
	}
}

// A loop counts what a call does.
type loop = func(k *count, c *op.Call)

// whole is a loop that reads all inputs and stores all results, whose arithmetic
// is that of f.
func whole(f loop) loop {
	return func(k *count, c *op.Call) {
		k.loads(c.In...)
		f(k, c)
		k.stores(c)
	}
}

// results is the loop of n operations for each element of the first result.
func results(n int) loop {
	return whole(func(k *count, c *op.Call) { k.ops(c.Spec[0].Shape.Numel(), n) })
}

// written is the loop of an operator that reads nothing.
func written(n int) loop {
	return func(k *count, c *op.Call) {
		k.ops(c.Spec[0].Shape.Numel(), n)
		k.stores(c)
	}
}

// picked is the loop of an operator that reads an element of the first input for
// each of the result.
func picked(k *count, c *op.Call) {
	k.loads(c.In[1:]...)
	times(c.Spec[0].Shape.Numel(), func() { k.load(c.In[0]) })
	k.stores(c)
}

// rows calls f with the elements of each row of c's first input that the dim or
// dims of the argument at make one of: all of them if it is None.
func rows(c *op.Call, at int, f func(n int)) {
	x, n := c.In[0], 1
	s, a := x.Shape(), c.Args[at]
	switch {
	case !a.Set && a.Ints == nil && a.Int == 0 && optionalDim(c, at):
		n = x.Numel()
	case len(s) == 0:
	case a.Ints != nil:
		for _, d := range a.Ints {
			n *= s[(d+len(s))%len(s)]
		}
	default:
		n = s[(a.Int+len(s))%len(s)]
	}
	m := 1
	for _, size := range s {
		m *= size
	}
	if n > 0 {
		m /= n
	} else {
		m = c.Spec[0].Shape.Numel()
	}
	times(m, func() { f(n) })
}

// optionalDim reports whether the argument at of c may be None.
func optionalDim(c *op.Call, at int) bool {
	for _, p := range c.Def.Params {
		if p.IsTensor() {
			continue
		}
		if at == 0 {
			return p.Kind == op.Dims || p.Kind == op.OptDim
		}
		at--
	}
	return false
}

// familyLoop is the loop of an operator whose entry has no cost.
func familyLoop(d *op.Def) loop {
	switch {
	case d.InPlace:
		return loopOf(op.Lookup(d.Base))
	case d.View:
		return func(*count, *op.Call) {}
	case d.Surface == 0:
		return nil
	}
	return whole(func(k *count, c *op.Call) {
		most := 0
		for _, x := range c.In {
			if x != nil {
				most = max(most, x.Numel())
			}
		}
		for _, s := range c.Spec {
			most = max(most, s.Shape.Numel())
		}
		times(most, k.op)
	})
}

// loopOf returns the loop of d; nil if it lacks one.
func loopOf(d *op.Def) loop {
	if l := costLoops[d.Name]; l != nil || d.Cost != nil {
		return l
	}
	return familyLoop(d)
}

// larger returns x with each size of more than one made by larger: an example is
// counted as it is written, and with other sizes that are as different.
func larger(ex example, by int) example {
	grown := ex
	grown.in = append([]input(nil), ex.in...)
	for i, in := range grown.in {
		if in.data != nil {
			continue
		}
		s := append(shape.Shape(nil), in.shape...)
		for d := range s {
			if s[d] > 1 {
				s[d] += by
			}
		}
		grown.in[i].shape = s
	}
	return grown
}

// The cost of every operator is what a plain loop counts, on the examples, on
// larger ones where they fit together, and in dtypes of 2, 4 and 8 bytes; and it
// is the same of tensors without storage.
func TestTableCost(t *testing.T) {
	total := 0
	for _, d := range ofReals() {
		count := loopOf(d)
		if d.OfParts { // it has no examples
			continue
		}
		if count == nil {
			t.Errorf("%s has a cost and no loop that it is held to: add one to costLoops", d.Name)
			continue
		}
		cases := 0
		for _, ex := range examples[d.Name] {
			for by := range 3 {
				for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16, dtype.Int64, dtype.Bool} {
					cases += checkCost(t, newTrial(d, larger(ex, by), dt), count)
				}
			}
		}
		if cases == 0 && len(examples[d.Name]) > 0 {
			t.Errorf("%s: no example could be counted", d.Name)
		}
		total += cases
	}
	t.Logf("%d calls of %d operators", total, len(ofReals()))
}

// checkCost compares the cost of tr with what its loop counts. It returns 0 if
// the call is refused.
func checkCost(t *testing.T, tr *trial, count loop) int {
	t.Helper()
	c := &op.Call{Def: tr.d, Ctx: newCtx(), In: tr.in, Args: tr.args}
	if refused(c) {
		return 0
	}
	got, want := c.Cost(), counted(c, count)
	if got.FLOPs != want.flops || got.Read != want.read || got.Written != want.written {
		t.Errorf("%v: got %d operations, %d bytes read, %d written, want %d, %d, %d as a loop counts",
			tr, got.FLOPs, got.Read, got.Written, want.flops, want.read, want.written)
	}
	checkProducts(t, tr, got, want.fmas)
	checkBareCost(t, tr, got)
	return 1
}

// checkProducts compares the products of a cost, if there are any, with the
// multiply-adds that the loop counts. Attention under is_causal has fewer.
func checkProducts(t *testing.T, tr *trial, got op.Cost, fmas int64) {
	t.Helper()
	n := int64(0)
	for _, p := range got.Products {
		n += p.FLOPs()
	}
	if len(got.Products) > 0 && n != 2*fmas && !causal(tr) {
		t.Errorf("%v: got %d operations in products %v, want %d as a loop counts", tr, n, got.Products, 2*fmas)
	}
}

// causal reports whether tr hides keys behind a query.
func causal(tr *trial) bool {
	at := 0
	for _, p := range tr.d.Params {
		if p.IsTensor() {
			continue
		}
		if p.Name == "is_causal" {
			return tr.args[at].Int != 0
		}
		at++
	}
	return false
}

// refused reports whether Infer refuses c, or panics as it may of sizes that do
// not belong together.
func refused(c *op.Call) (bad bool) {
	defer func() { bad = bad || recover() != nil }()
	return c.Def.Infer(c) != nil
}

func counted(c *op.Call, f loop) *count {
	k := &count{}
	f(k, c)
	return k
}

// checkBareCost holds the cost of tr without storage to that with storage, where
// Infer takes it.
func checkBareCost(t *testing.T, tr *trial, want op.Cost) {
	t.Helper()
	in := make([]*tensor.Tensor, len(tr.in))
	for i, x := range tr.in {
		if in[i] = x; x != nil && !x.Weak() {
			in[i] = x.ShapeOnly()
		}
	}
	got, err := op.CostOf(newCtx(), tr.d, in, tr.args)
	if err == nil && (got.FLOPs != want.FLOPs || got.Read != want.Read || got.Written != want.Written) {
		t.Errorf("%v without storage: got %+v, want %+v", tr, got, want)
	}
}
