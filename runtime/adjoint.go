package runtime

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The gradients of collectives are collectives. A script has one loss a rank,
// and these differentiate the sum of them.

// adjointAllReduce: every rank's result depends on every input, so the
// gradients are added up; a maximum sends the sum to the winner alone, and a
// product multiplies it by the other factors.
func adjointAllReduce(k *tensorCall, dy *tensor.Tensor) (*tensor.Tensor, error) {
	op := "sum"
	if k.Reduce == "mean" {
		op = "mean"
	}
	g, err := k.r.Run(k.g, Collective{Op: "all_reduce", Reduce: op, Exact: k.Exact}, dy)
	if err != nil || k.Reduce == "sum" || k.Reduce == "mean" {
		return g, err
	}
	return k.partial(k.y, g)
}

// partial returns dy times the derivative of a max, min or prod whose full
// result is y with respect to this member's input.
func (k *tensorCall) partial(y, dy *tensor.Tensor) (*tensor.Tensor, error) {
	if k.Reduce == "prod" {
		others, err := k.otherFactors()
		if err != nil {
			return nil, err
		}
		return k.r.Do("mul", []*tensor.Tensor{dy, others})
	}
	first, err := k.winners(y)
	if err != nil {
		return nil, err
	}
	return k.r.Do("where", []*tensor.Tensor{first, dy, tensor.Number(0.0)})
}

// winners returns where this member is the first that holds y. A NaN wins, and
// whoever has one holds it.
func (k *tensorCall) winners(y *tensor.Tensor) (*tensor.Tensor, error) {
	t := op.Tape{A: k.r}
	var first *tensor.Tensor
	err := guard(func() error {
		x := k.x.Detach()
		holds := t.Do("or", []*tensor.Tensor{t.Do("eq", []*tensor.Tensor{x, y.Detach()}), t.Do("isnan", []*tensor.Tensor{x})})
		me, none := tensor.Number(int64(k.g.Place())), tensor.Number(int64(k.g.Size()))
		rank := t.Cast(t.Where(holds, me, none), dtype.Int64)
		least, err := k.r.Run(k.g, Collective{Op: "all_reduce", Reduce: "min"}, rank)
		if err != nil {
			return err
		}
		first = t.Do("eq", []*tensor.Tensor{least, me})
		return nil
	})
	return first, err
}

// otherFactors returns the product of the other members' inputs.
func (k *tensorCall) otherFactors() (*tensor.Tensor, error) {
	t := op.Tape{A: k.r}
	var product *tensor.Tensor
	err := guard(func() error {
		row := t.Do("unsqueeze", []*tensor.Tensor{k.x}, op.Int1(0))
		all, err := k.r.Run(k.g, Collective{Op: "all_gather"}, row)
		if err != nil {
			return err
		}
		n, me := k.g.Size(), k.g.Rank()
		before := t.Do("narrow", []*tensor.Tensor{all}, op.Int1(0), op.Int1(0), op.Int1(me))
		after := t.Do("narrow", []*tensor.Tensor{all}, op.Int1(0), op.Int1(me+1), op.Int1(n-me-1))
		product = t.Mul(t.Do("prod", []*tensor.Tensor{before}, op.IntsN(0), op.Bool1(false)),
			t.Do("prod", []*tensor.Tensor{after}, op.IntsN(0), op.Bool1(false)))
		return nil
	})
	return product, err
}

// guard runs fn and returns the failure of an operator on a tape as an error.
func guard(fn func() error) (err error) {
	defer op.Recover(&err)
	return fn()
}

// adjointAllGather: each member's part of the result went to all, so its
// gradients are added up and come back to it, at the size that it had.
func adjointAllGather(k *tensorCall, dy *tensor.Tensor) (*tensor.Tensor, error) {
	return k.r.Run(k.g, Collective{Op: "reduce_scatter", Dim: k.Dim, Reduce: "sum", sizes: freeSizes(k.members)}, dy)
}

// adjointReduceScatter: each part of every input went into one member's
// result, so its gradient goes to all.
func adjointReduceScatter(k *tensorCall, dy *tensor.Tensor) (*tensor.Tensor, error) {
	g, err := k.r.Run(k.g, Collective{Op: "all_gather", Dim: k.Dim}, dy)
	switch {
	case err != nil || k.Reduce == "sum":
		return g, err
	case k.Reduce == "mean":
		return k.r.Do("div", []*tensor.Tensor{g, tensor.Number(float64(k.g.Size()))})
	}
	var y *tensor.Tensor
	if k.Reduce != "prod" {
		if y, err = k.r.Run(k.g, Collective{Op: "all_gather", Dim: k.Dim}, k.y.Detach()); err != nil {
			return nil, err
		}
	}
	return k.partial(y, g)
}

// adjointBroadcast: the root's input went to all, so the gradients add up
// there; other inputs went nowhere.
func adjointBroadcast(k *tensorCall, dy *tensor.Tensor) (*tensor.Tensor, error) {
	if k.r.Tape.Enabled() { // to be differentiated again: every member keeps a record
		g, err := k.r.Run(k.g, Collective{Op: "all_reduce", Reduce: "sum"}, dy)
		return k.onRoot(g), err
	}
	return k.r.Run(k.g, Collective{Op: "reduce", Root: k.Root, Reduce: "sum"}, dy)
}

// adjointScatter: the parts of the root's input went to the members, and
// their gradients are gathered there.
func adjointScatter(k *tensorCall, dy *tensor.Tensor) (*tensor.Tensor, error) {
	if k.r.Tape.Enabled() {
		g, err := k.r.Run(k.g, Collective{Op: "all_gather", Dim: k.Dim}, dy)
		return k.onRoot(g), err
	}
	return k.r.Run(k.g, Collective{Op: "gather", Dim: k.Dim, Root: k.Root}, dy)
}

// onRoot returns g on the call's root and nil elsewhere.
func (k *tensorCall) onRoot(g *tensor.Tensor) *tensor.Tensor {
	if !k.root() {
		return nil
	}
	return g
}

// adjointAllToAll sends every piece back to where it came from.
func adjointAllToAll(k *tensorCall, dy *tensor.Tensor) (*tensor.Tensor, error) {
	if k.Dim != k.Concat {
		return k.r.Run(k.g, Collective{Op: "all_to_all", Dim: k.Concat, Concat: k.Dim, sizes: freeSizes(k.members)}, dy)
	}
	// The pieces of one dim differ in size by both ends: they go as a list.
	pieces := make([]*tensor.Tensor, k.g.Size())
	lo := 0
	for s, n := range k.pieceSizes() {
		p, err := k.r.Do("narrow", []*tensor.Tensor{dy}, op.Int1(k.Dim), op.Int1(lo), op.Int1(n))
		if err != nil {
			return nil, err
		}
		pieces[s] = p
		lo += n
	}
	back, err := k.r.Exchange(k.g, pieces)
	if err != nil {
		return nil, err
	}
	return k.r.Do("cat", back, op.Int1(k.Dim))
}

// adjointPermute sends along the reversed pairs.
func adjointPermute(k *tensorCall, dy *tensor.Tensor) (*tensor.Tensor, error) {
	back := make([][2]int, len(k.Pairs))
	for i, p := range k.Pairs {
		back[i] = [2]int{p[1], p[0]}
	}
	return k.r.Run(k.g, Collective{Op: "collective_permute", Pairs: back}, dy)
}
