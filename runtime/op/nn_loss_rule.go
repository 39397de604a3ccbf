package op

import (
	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// reductionArg returns the index of the argument reduction.
func (c *Call) reductionArg() int {
	i := 0
	for c.argName(i) != "reduction" {
		i++
	}
	return i
}

// lossRows returns the rows of a loss whose elements have shape s, to which the
// inputs are broadcast: sums and means of losses are summands.
func (c *Call) lossRows(s []int) []Row {
	return spreadRows(c, s, func(d int) mesh.Placement {
		if c.Args[c.reductionArg()].Str == "none" {
			return mesh.Shard(d)
		}
		return summands
	})
}

// localLoss is a loss of blocks. Where the losses are joined it is their sum,
// which is rounded once, and for a mean divided by the number in the whole.
func localLoss(b *Blocks) ([]*tensor.Tensor, error) {
	at := b.reductionArg()
	how := b.Args[at].Str
	if how == "none" || how == "mean" && b.countsTargets() { // the blocks are whole
		return b.Apply(b.Args...)
	}
	args := append([]Arg(nil), b.Args...)
	args[at] = Str1("sum")
	in := make([]*tensor.Tensor, len(b.X))
	for i, x := range b.X {
		if x != nil && x.DType().IsFloat() {
			x = b.T.wide(x)
		}
		in[i] = x
	}
	y := b.T.Do(b.Def.Name, in, args...)
	if how == "mean" {
		y = b.T.Div(y, tensor.Number(float64(b.lossCount())))
	}
	return one(b.T.Cast(y, b.Spec[0].DType)), nil
}

// countsTargets reports whether a mean of c is over the targets that count.
func (c *Call) countsTargets() bool {
	return (c.Def.Name == "cross_entropy" || c.Def.Name == "nll_loss") && !c.probabilities()
}

// lossCount returns how many losses the whole has.
func (c *Call) lossCount() int {
	if c.Def.Name == "cross_entropy" {
		return withoutClasses(c.In[0].Shape()).Numel()
	}
	s, _ := shape.Broadcast(c.In[0].Shape(), c.In[1].Shape())
	return s.Numel()
}
