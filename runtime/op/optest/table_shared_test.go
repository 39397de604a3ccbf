package optest

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// sharingRanks is how many ranks share each input there. The first is idle.
const sharingRanks = 3

// Ranks share the results of collectives. Whatever operator some of them run on
// such inputs at a time, each gets what it gets on inputs of its own, and those of
// a rank that runs none stay as they are: shared storage is watched by the
// hardware, so that every write to it fails.
func TestTableSharedStorage(t *testing.T) {
	guarded := newGuarded()
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		want := newTrial(d, ex, dt)
		in, before := shared(guarded, newTrial(d, ex, dt).in)
		c, errWant := want.apply()
		var got [sharingRanks]*op.Call
		var errs [sharingRanks]error
		var ranks sync.WaitGroup
		for r := 1; r < sharingRanks; r++ {
			ranks.Go(func() { got[r], errs[r] = applyGuarded(d, in[r], want.args) })
		}
		ranks.Wait()
		for r := 1; r < sharingRanks; r++ {
			if (errs[r] == nil) != (errWant == nil) {
				t.Errorf("%v: error %v on shared inputs, %v on others", want, errs[r], errWant)
			}
			if errs[r] != nil || errWant != nil {
				continue
			}
			for i := range c.Out {
				if !same(got[r].Out[i], c.Out[i]) {
					t.Errorf("%v: result %d differs on shared inputs", want, i)
				}
			}
			for i, x := range in[r] {
				if x != nil && !same(x, want.in[i]) {
					t.Errorf("%v: input %d is left with other elements if it was shared", want, i)
				}
			}
		}
		for i, x := range in[0] {
			if !bytes.Equal(stored(x), before[i]) {
				t.Errorf("%v: input %d has changed on a rank that shares it", want, i)
			}
		}
		return 1
	})
}

// newGuarded returns an allocator whose buffers are watched while they are shared.
func newGuarded() *tensor.Allocator {
	a := tensor.NewAllocator(0)
	a.Large, a.Guard = 1, true
	return a
}

// shared returns for each rank tensors in a like in that it shares with the others,
// and the bytes of their storage. Inputs on one buffer are so on every rank.
func shared(a *tensor.Allocator, in []*tensor.Tensor) (ranks [sharingRanks][]*tensor.Tensor, before [][]byte) {
	buffers := map[*tensor.Buffer][sharingRanks]*tensor.Buffer{}
	for r := range ranks {
		ranks[r] = slices.Clone(in)
	}
	for i, x := range in {
		before = append(before, slices.Clone(stored(x)))
		if x == nil || x.Weak() || len(before[i]) == 0 {
			continue
		}
		all, ok := buffers[x.Buffer()]
		if !ok {
			all = share(a, before[i])
			buffers[x.Buffer()] = all
		}
		for r, b := range all {
			whole := tensor.NewOn(b, x.DType(), shape.Shape{len(before[i]) / x.DType().Size()})
			ranks[r][i] = whole.View(x.Shape(), x.Strides(), x.Offset())
		}
	}
	return ranks, before
}

// share returns buffers that share a copy of data.
func share(a *tensor.Allocator, data []byte) (all [sharingRanks]*tensor.Buffer) {
	s, err := a.Share(len(data), sharingRanks)
	if err != nil {
		panic(err)
	}
	for r := range all {
		all[r] = s.Buffer()
	}
	copy(tensor.NewOn(all[0], dtype.Uint8, shape.Shape{len(data)}).Bytes(), data)
	all[0].Seal()
	return all
}

// applyGuarded is op.Apply with a fault as an error.
func applyGuarded(d *op.Def, in []*tensor.Tensor, args []op.Arg) (c *op.Call, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return op.Apply(newCtx(), d, in, args)
}

// A write that goes past the choke point does fail.
func TestGuard(t *testing.T) {
	all := share(newGuarded(), []byte{1, 2, 3})
	x := tensor.NewOn(all[1], dtype.Uint8, shape.Shape{3})
	write := func() (err error) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		x.Bytes()[0] = 9
		return nil
	}
	if write() == nil {
		t.Error("a write to shared storage went through")
	}
	for _, b := range all[1:] {
		if err := b.Own(); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(); err != nil {
		t.Errorf("a write to storage of its own: got %v", err)
	}
	if err := all[0].Own(); err != nil { // the last that is left
		t.Fatal(err)
	}
	x = tensor.NewOn(all[0], dtype.Uint8, shape.Shape{3})
	if got := x.Bytes()[0]; got != 1 {
		t.Errorf("what was shared has become %d, want 1", got)
	}
	if err := write(); err != nil {
		t.Errorf("a write to storage that others have left: got %v", err)
	}
}
