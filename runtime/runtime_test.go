package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onRanks runs body on every rank of a job and returns what each returned.
func onRanks(t *testing.T, transport string, n int, body func(r *Rank) error) []error {
	t.Helper()
	errs := make([]error, n)
	var ended sync.WaitGroup
	ended.Add(n)
	job, err := Start(context.Background(), Config{Size: n, Transport: transport, Poison: true, Guard: true}, func(ctx context.Context, r *Rank) {
		defer ended.Done()
		r.Begin(ctx)
		errs[r.ID()] = r.End(body(r))
	})
	if err != nil {
		t.Fatal(err)
	}
	ended.Wait()
	job.Stop()
	return errs
}

// everywhere runs body on 1 to 4 ranks of every transport and fails the test
// where it returns an error.
func everywhere(t *testing.T, body func(r *Rank) error) {
	t.Helper()
	for _, transport := range Transports {
		for n := 1; n <= 4; n++ {
			for rank, err := range onRanks(t, transport, n, body) {
				if err != nil {
					t.Errorf("%s, rank %d of %d: %v", transport, rank, n, err)
				}
			}
		}
	}
}

// floats returns a float32 tensor of shape s with elements f(0), f(1), ...
func floats(r *Rank, s shape.Shape, f func(i int) float32) *tensor.Tensor {
	x, err := tensor.New(r.Ops().Alloc, dtype.Float32, s)
	if err != nil {
		panic(err)
	}
	for i := range tensor.Data[float32](x) {
		tensor.Data[float32](x)[i] = f(i)
	}
	return x
}

func values(x *tensor.Tensor) []float32 { return tensor.Data[float32](x) }

// A sum of float32 adds in rank order: (1e8 - 1e8) + 1 is 1 in no other.
func TestSumsInRankOrder(t *testing.T) {
	for _, transport := range Transports {
		for _, n := range []int{1, 5, 300_000} {
			for rank, err := range onRanks(t, transport, 3, func(r *Rank) error {
				v := []float32{1e8, -1e8, 1}[r.ID()]
				y, err := r.Run(r.World(), Collective{Op: "all_reduce", Reduce: "sum"}, floats(r, shape.Shape{n}, func(int) float32 { return v }))
				if err != nil {
					return err
				}
				for i, got := range values(y) {
					if got != 1 {
						return fmt.Errorf("element %d of %d is %g, want 1", i, n, got)
					}
				}
				return nil
			}) {
				if err != nil {
					t.Errorf("%s, rank %d: %v", transport, rank, err)
				}
			}
		}
	}
}

// The gradient of every collective is its transpose: for a linear map A,
// the sum over ranks of y·Ax equals that of x·Aᵀy.
func TestAdjoints(t *testing.T) {
	cases := []Collective{
		{Op: "all_reduce", Reduce: "sum"},
		{Op: "all_reduce", Reduce: "mean"},
		{Op: "all_gather", Dim: 0},
		{Op: "all_gather", Dim: 1},
		{Op: "reduce_scatter", Dim: 0, Reduce: "sum"},
		{Op: "reduce_scatter", Dim: 1, Reduce: "mean"},
		{Op: "broadcast", Root: 0},
		{Op: "scatter", Dim: 1, Root: 0},
		{Op: "all_to_all", Dim: 0, Concat: 1},
		{Op: "all_to_all", Dim: 1, Concat: 0},
		{Op: "all_to_all", Dim: 1, Concat: 1},
		{Op: "collective_permute"},
	}
	everywhere(t, func(r *Rank) error {
		for _, c := range cases {
			if c.Op == "collective_permute" {
				c.Pairs = [][2]int{{0, r.Size() - 1}}
			}
			if err := checkAdjoint(r, c); err != nil {
				return fmt.Errorf("%s dim %d concat %d %s: %w", c.Op, c.Dim, c.Concat, c.Reduce, err)
			}
		}
		return nil
	})
}

func checkAdjoint(r *Rank, c Collective) error {
	s := shape.Shape{5, 3}
	if collectives[c.Op].free(&c) >= 0 { // members may differ in size
		s[collectives[c.Op].free(&c)] += r.ID()
	}
	x := floats(r, s, func(i int) float32 { return float32(i%7) + 0.5*float32(r.ID()) })
	x.Auto = &tensor.Auto{Requires: true}
	y, err := r.Run(r.World(), c, x)
	if err != nil {
		return err
	}
	dy := floats(r, y.Shape(), func(i int) float32 { return float32(i%5) - float32(r.ID()) })
	if err := r.Tape.Backward(y, dy, false); err != nil {
		return err
	}
	left, right := dot(y, dy), float32(0)
	if x.Auto.Grad != nil {
		right = dot(x, x.Auto.Grad)
	}
	both, err := r.Run(r.World(), Collective{Op: "all_reduce", Reduce: "sum"}, floats(r, shape.Shape{2}, func(i int) float32 { return []float32{left, right}[i] }))
	if err != nil {
		return err
	}
	if got := values(both); got[0]-got[1] > 1e-2 || got[1]-got[0] > 1e-2 {
		return fmt.Errorf("y·Ax is %g and x·Aᵀy is %g", got[0], got[1])
	}
	return nil
}

func dot(x, y *tensor.Tensor) (sum float32) {
	for i, v := range values(x) {
		sum += v * values(y)[i]
	}
	return sum
}

// The gradient of a maximum goes to the first rank that holds it, that of a
// product is the product of the others.
func TestAdjointsOfMaxAndProd(t *testing.T) {
	for _, transport := range Transports {
		for rank, err := range onRanks(t, transport, 3, func(r *Rank) error {
			x := floats(r, shape.Shape{3}, func(i int) float32 { return [][]float32{{1, 2, 0}, {3, 2, 4}, {3, 1, 5}}[r.ID()][i] })
			for _, c := range []struct {
				reduce string
				want   [][]float32
			}{
				{"max", [][]float32{{0, 3, 0}, {3, 0, 0}, {0, 0, 3}}},
				{"min", [][]float32{{3, 0, 3}, {0, 0, 0}, {0, 3, 0}}},
				{"prod", [][]float32{{27, 6, 60}, {9, 6, 0}, {9, 12, 0}}},
			} {
				x.Auto = &tensor.Auto{Requires: true}
				y, err := r.Run(r.World(), Collective{Op: "all_reduce", Reduce: c.reduce}, x)
				if err != nil {
					return err
				}
				if err := r.Tape.Backward(y, floats(r, shape.Shape{3}, func(int) float32 { return 1 }), false); err != nil {
					return err
				}
				for i, got := range values(x.Auto.Grad) {
					if want := c.want[r.ID()][i]; got != want {
						return fmt.Errorf("%s: gradient %v, want %v", c.reduce, values(x.Auto.Grad), c.want[r.ID()])
					}
				}
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("%s, rank %d: %v", transport, rank, err)
			}
		}
	}
}

// An in-place change of the input of a collective under way waits for it.
func TestIssueHoldsInput(t *testing.T) {
	everywhere(t, func(r *Rank) error {
		x := floats(r, shape.Shape{100_000}, func(int) float32 { return 1 })
		w, err := r.Issue(r.World(), Collective{Op: "all_reduce", Reduce: "sum"}, x)
		if err != nil {
			return err
		}
		if _, err := r.Do("fill_", []*tensor.Tensor{x, tensor.Number(7.0)}); err != nil {
			return err
		}
		y, err := w.Wait()
		if err != nil {
			return err
		}
		for i, got := range values(y) {
			if got != float32(r.Size()) {
				return fmt.Errorf("element %d is %g, want %d", i, got, r.Size())
			}
		}
		return nil
	})
}

// A rank that is killed fails the calls of the others, which name it.
func TestKill(t *testing.T) {
	for _, transport := range Transports {
		errs := onRanks(t, transport, 3, func(r *Rank) error {
			if r.ID() == 1 {
				r.Kill("barrier", 2)
			}
			for range 3 {
				if err := r.Barrier(r.World()); err != nil {
					return err
				}
			}
			return nil
		})
		for rank, err := range errs {
			var kind interface {
				Kind() string
				Ranks() []int
			}
			if !errors.As(err, &kind) || kind.Kind() != "peer" || len(kind.Ranks()) != 1 || kind.Ranks()[0] != 1 {
				t.Errorf("%s, rank %d: got error %v, want a peer error of rank 1", transport, rank, err)
			}
		}
	}
}

func TestTrace(t *testing.T) {
	everywhere(t, func(r *Rank) error {
		n := r.Size()
		trace := r.StartTrace()
		if _, err := r.Run(r.World(), Collective{Op: "all_gather"}, floats(r, shape.Shape{6}, func(int) float32 { return 0 })); err != nil {
			return err
		}
		r.StopTrace(trace)
		if err := r.Barrier(r.World()); err != nil {
			return err
		}
		if len(trace.Records) != 1 {
			return fmt.Errorf("%d records, want 1", len(trace.Records))
		}
		if rec := trace.Records[0]; rec.Op != "all_gather" || rec.Bytes != 24 || rec.Wire != 24*(n-1) || rec.DType != "float32" {
			return fmt.Errorf("record %+v, want all_gather of 24 bytes that sends %d", *rec, 24*(n-1))
		}
		return nil
	})
}

func TestCutShape(t *testing.T) {
	meta := appendShape(appendShape(nil, dtype.BFloat16, shape.Shape{3, 0, 1 << 30}), dtype.Bool, nil)
	dt, s, rest, err := cutShape(meta)
	if err != nil || dt != dtype.BFloat16 || !s.Equal(shape.Shape{3, 0, 1 << 30}) {
		t.Fatalf("cutShape = %v%v, %v", dt, s, err)
	}
	if dt, s, rest, err = cutShape(rest); err != nil || dt != dtype.Bool || len(s) != 0 || len(rest) != 0 {
		t.Fatalf("second cutShape = %v%v, %v, %d bytes left", dt, s, err, len(rest))
	}
}

// Whatever parses is a shape that can be counted.
func FuzzCutShape(f *testing.F) {
	f.Add(appendShape(nil, dtype.Float32, shape.Shape{2, 3}))
	f.Add([]byte{0, 2, 255})
	f.Fuzz(func(t *testing.T, meta []byte) {
		dt, s, _, err := cutShape(meta)
		if err == nil && s.Check(dt.Size()) != nil {
			t.Errorf("cutShape(%x) = %v%v, which cannot be counted", meta, dt, s)
		}
	})
}
