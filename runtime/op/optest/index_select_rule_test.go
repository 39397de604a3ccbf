package optest

import (
	"errors"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// An index outside is the same error on every rank of a dim that is cut as of
// the whole: it speaks of the whole, also on a rank whose block is empty.
func TestIndexErrorsOnBlocks(t *testing.T) {
	x, far := counting(dtype.Float32, 4, 3), i64(1, -9)
	weight := counting(dtype.Float32, 4, 2)
	tests := []callTest{
		{of("index_select", x, op.Int1(0), far), `index_select: for parameter "index": got -9 at position 1, want -4..3 (dim 0 of shape (4, 3))`},
		{of("index", x, far), `index: for parameter "index": got -9 at position 1, want -4..3 (dim 0 of shape (4, 3))`},
		{of("index_copy", x, op.Int1(0), far, 7.0), `index_copy: for parameter "index": got -9 at position 1, want -4..3 (dim 0 of shape (4, 3))`},
		{of("index_put", x, far, 7.0), `index_put: for parameter "index": got -9 at position 1, want -4..3 (dim 0 of shape (4, 3))`},
		{of("index_put_", x, far, 7.0), `index_put_: for parameter "index": got -9 at position 1, want -4..3 (dim 0 of shape (4, 3))`},
		{of("index_spread", counting(dtype.Float32, 2, 3), op.Int1(0), op.Int1(4), far, x), `index_spread: for parameter "index": got -9 at position 1, want -4..3 (dim 0 of shape (4, 3))`},
		{of("gather", x, op.Int1(0), holding(dtype.Int64, []int{1, 2}, 0, 4)), `gather: for parameter "index": got 4 at position 1, want -4..3 (dim 0 of shape (4, 3))`},
		{of("scatter_add", x, op.Int1(0), holding(dtype.Int64, []int{1, 2}, 0, 4), x), `scatter_add: for parameter "index": got 4 at position 1, want -4..3 (dim 0 of shape (4, 3))`},
		{of("embedding", i64(1, 4), weight), `embedding: for parameter "x": got 4 at index (1,), want 0..3 (rows of weight float32[4, 2])`},
		{of("embedding_grad", counting(dtype.Float32, 2, 2), i64(1, 4), op.Int1(4), weight), `embedding_grad: for parameter "x": got 4 at index (1,), want 0..3 (rows)`},
		{of("embedding_bag", i64(1, 4), weight, i64(0), nil), `embedding_bag: for parameter "x": got 4 at index (1,), want 0..3 (rows of weight float32[4, 2])`},
	}
	for _, c := range tests {
		if got := result(c.args...); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", describeCall(c.args), got, c.want)
		}
		checkBlockErrors(t, c)
	}
}

// checkBlockErrors checks that on 3 ranks the call fails as the test says, for
// each row in which the dim of 4 indices is cut.
func checkBlockErrors(t *testing.T, test callTest) {
	t.Helper()
	d := op.Lookup(test.args[0].(string))
	tr := &trial{d: d}
	tr.in, tr.args = arguments(d, test.args)
	c := standIns(tr)
	if err := d.Infer(c); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, row := range d.Shard(c) {
		s := &split{tr: tr, c: c, m: newMesh(3), rows: []op.Row{row}}
		if !cutsFour(c, row) || !s.takesPart() || !s.place(t) {
			continue
		}
		rows++
		for rank := range 3 {
			err := blockError(s, rank)
			var bad *op.ArgError
			if !errors.As(err, &bad) || err.Error() != test.want {
				t.Errorf("%s, %v on rank %d\n got %v\nwant %s", describeCall(test.args), row, rank, err, test.want)
			}
		}
	}
	if rows == 0 {
		t.Errorf("%s: no row cuts the dim of 4 indices", describeCall(test.args))
	}
}

// arguments returns the tensors and the other arguments of a callTest, those left
// out being their defaults.
func arguments(d *op.Def, args []any) (in []*tensor.Tensor, rest []op.Arg) {
	for _, a := range args[1:] {
		switch a := a.(type) {
		case *tensor.Tensor:
			in = append(in, a)
		case op.Arg:
			rest = append(rest, a)
		case float64:
			in = append(in, tensor.Number(a))
		case nil:
			in = append(in, nil)
		}
	}
	n := 0
	for i := range d.Params {
		if p := &d.Params[i]; !p.IsTensor() {
			if n++; n > len(rest) {
				rest = append(rest, *p.Default)
			}
		}
	}
	return in, rest
}

// cutsFour reports whether row cuts a dim of 4, and of nothing else.
func cutsFour(c *op.Call, row op.Row) bool {
	four := false
	for i, x := range c.In {
		if d, cut := row.In[i].Shard(); cut && x != nil {
			if x.Shape()[d] != 4 {
				return false
			}
			four = true
		}
	}
	return four
}

// blockError runs s on one rank and returns its error.
func blockError(s *split, rank int) (err error) {
	defer func() {
		if te, ok := recover().(*op.TapeError); ok {
			err = te.Err
		}
	}()
	x := make([]*tensor.Tensor, len(s.tr.in))
	for i, in := range s.tr.in {
		if in != nil {
			x[i] = blockOf(in, s.from[i], rank, i)
		}
	}
	tape := &op.Tape{A: applier{newCtx()}}
	_, err = s.tr.d.Local(&op.Blocks{Call: s.c, T: tape, X: x, From: s.from, To: s.to, Rank: rank})
	return err
}
