package optest

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// What is brought together for an operation are the inputs that are broadcast, transposed or
// joined, in pieces that one stride serves.
func TestCallPieces(t *testing.T) {
	ctx := newCtx()
	rec := grad.New(ctx)
	ones := func(shape ...int) *tensor.Tensor {
		return mustApply(rec, "ones", nil, op.IntsN(shape...), op.Int1(int(dtype.Float32)))
	}
	turned := mustApply(rec, "transpose", []*tensor.Tensor{ones(4, 6, 8)}, op.Int1(0), op.Int1(1)) // [6, 4, 8]
	for _, c := range []struct {
		name             string
		in               []*tensor.Tensor
		args             []op.Arg
		pieces, elements int
	}{
		{"mul", []*tensor.Tensor{ones(6, 4, 8), ones(6, 4, 8)}, nil, 0, 0},
		{"mul", []*tensor.Tensor{ones(6, 4, 8), ones()}, nil, 0, 0},
		{"mul", []*tensor.Tensor{turned, ones(6, 4, 8)}, nil, 24, 192},
		{"mul", []*tensor.Tensor{turned, ones(6, 1, 8)}, nil, 48, 384},
		{"mul", []*tensor.Tensor{ones(6, 4, 8), ones(6, 4, 1)}, nil, 24, 192},
		{"add", []*tensor.Tensor{ones(6, 4, 8), ones(4, 8)}, nil, 6, 192},
		{"mul", []*tensor.Tensor{ones(0, 4, 8), ones(4, 8)}, nil, 0, 0},
		{"div", []*tensor.Tensor{ones(10, 0), ones(10, 1)}, nil, 0, 0},
		{"cat", []*tensor.Tensor{ones(6, 4), ones(6, 2)}, []op.Arg{op.Int1(-1)}, 12, 0},
		{"cat", []*tensor.Tensor{ones(6, 4), ones(2, 4)}, []op.Arg{op.Int1(0)}, 2, 0},
	} {
		call := &op.Call{Def: op.Lookup(c.name), Ctx: ctx, In: c.in, Args: c.args}
		if err := call.Apply(); err != nil {
			t.Fatal(err)
		}
		if p, e := call.Pieces(); p != c.pieces || e != c.elements {
			t.Errorf("%s of %v: got %d pieces of %d elements, want %d of %d", c.name, c.in, p, e, c.pieces, c.elements)
		}
	}
}
