package shard

import (
	"cmp"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Flat tensors: of one that lies as a mesh.Flat, a rank stores some ranges of the
// elements in row-major order, one after another in one dim. The functions below are made
// of operators, so that they are differentiated like any others.

// FlatPart returns rank's part of the plain tensor x, which lies as f: [n].
// It may share the storage of x.
func (e *Engine) FlatPart(f *mesh.Flat, rank int, x *tensor.Tensor) (*tensor.Tensor, error) {
	row, err := e.reshaped(x, x.Numel())
	if err != nil {
		return nil, err
	}
	parts := make([]*tensor.Tensor, 0, len(f.Ranges(rank)))
	for _, r := range f.Ranges(rank) {
		if parts, err = e.appendRange(parts, row, r); err != nil {
			return nil, err
		}
	}
	return e.joined(parts, row)
}

// FlatWhole returns the tensor that lies as f, given the parts of the ranks of f,
// in their order and one after another: [numel]. It may share the storage of x.
func (e *Engine) FlatWhole(f *mesh.Flat, x *tensor.Tensor) (*tensor.Tensor, error) {
	stored := storedRanges(f)
	inOrder := slices.IsSortedFunc(stored, func(a, b storedRange) int { return cmp.Compare(a.Lo, b.Lo) })
	if !inOrder {
		slices.SortFunc(stored, func(a, b storedRange) int { return cmp.Compare(a.Lo, b.Lo) })
		var parts []*tensor.Tensor
		var err error
		for _, r := range stored {
			if parts, err = e.appendRange(parts, x, mesh.Range{Lo: r.at, Hi: r.at + r.Hi - r.Lo}); err != nil {
				return nil, err
			}
		}
		if x, err = e.joined(parts, x); err != nil {
			return nil, err
		}
	}
	return e.reshaped(x, f.Shape()...)
}

// A storedRange is a range, and the place of its first element in the parts that the ranks
// store, one after another.
type storedRange struct {
	mesh.Range
	at int
}

// storedRanges returns the ranges of f that have elements, as they are stored.
func storedRanges(f *mesh.Flat) []storedRange {
	var list []storedRange
	at := 0
	for _, rank := range f.Ranks() {
		for _, r := range f.Ranges(rank) {
			if r.Lo < r.Hi {
				list = append(list, storedRange{r, at})
			}
			at += r.Hi - r.Lo
		}
	}
	return list
}

// appendRange appends the elements of x, [n], in r.
func (e *Engine) appendRange(parts []*tensor.Tensor, x *tensor.Tensor, r mesh.Range) ([]*tensor.Tensor, error) {
	part, err := e.tape.Apply(narrowOp, []*tensor.Tensor{x}, []op.Arg{op.Int1(0), op.Int1(r.Lo), op.Int1(r.Hi - r.Lo)})
	if err != nil {
		return nil, err
	}
	return append(parts, part[0]), nil
}

// joined returns parts, each [n], one after another; of no parts, no elements of x.
func (e *Engine) joined(parts []*tensor.Tensor, x *tensor.Tensor) (*tensor.Tensor, error) {
	switch len(parts) {
	case 0:
		none, err := e.appendRange(nil, x, mesh.Range{})
		if err != nil {
			return nil, err
		}
		return none[0], nil
	case 1:
		return parts[0], nil
	}
	out, err := e.tape.Apply(catOp, parts, []op.Arg{op.Int1(0)})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// reshaped returns x in a shape.
func (e *Engine) reshaped(x *tensor.Tensor, s ...int) (*tensor.Tensor, error) {
	if x.Shape().Equal(s) {
		return x, nil
	}
	out, err := e.tape.Apply(reshapeOp, []*tensor.Tensor{x}, []op.Arg{op.IntsN(s...)})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// The operators that flat tensors are taken apart and made of.
var (
	narrowOp  = op.Lookup("narrow")
	catOp     = op.Lookup("cat")
	reshapeOp = op.Lookup("reshape")
)
