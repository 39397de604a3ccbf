package shard

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Reinterpret returns x as a tensor placed as l, on another mesh of the same ranks,
// of which every rank holds the block that it holds of x. Nothing is moved, and
// the result shares the storage of x. Its gradient becomes that of x likewise.
//
// Where blocks that x takes to be alike are not, neither are those of the result:
// CheckLine tells.
func (e *Engine) Reinterpret(x *tensor.Tensor, l *mesh.Placed) *tensor.Tensor {
	if x.Layout() == l {
		return x
	}
	y := tensor.NewPlaced(l, x.Local())
	if x.RequiresGrad() {
		back := e.GradLayout(x.Layout())
		e.tape.Conduct("redistribute", []*tensor.Tensor{x}, []*tensor.Tensor{y}, func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
			g, err := e.move(dy[0], e.GradLayout(l))
			if err != nil {
				return nil, err
			}
			return []*tensor.Tensor{e.Reinterpret(g, back)}, nil
		})
	}
	return y
}

// CheckLine returns an error, on all of ranks, unless they hold the same data as
// their blocks of x. All of ranks call it, and the caller is one of them.
func (e *Engine) CheckLine(fn string, x *tensor.Tensor, ranks []int) error {
	block := x.Local()
	if len(ranks) < 2 || block.Buffer() == nil {
		return nil
	}
	line, err := mesh.New([]int{len(ranks)}, slices.Clone(ranks), nil)
	if err != nil {
		return OfMesh(fn, err)
	}
	l := e.Replicated(e.host.Layouts().Mesh(line), block.Shape())
	return e.CheckReplicas(fn, tensor.NewPlaced(l, block))
}
