package shard_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var everyCase = flag.Bool("full", false, "run all redistributions, not a sample of those on large meshes")

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // as the command does
	goleak.VerifyTestMain(m)
}

// onRanks runs body on the n ranks of a job, and fails the test where it returns
// an error.
func onRanks(t *testing.T, n int, body func(r *runtime.Rank) error) {
	t.Helper()
	var ended sync.WaitGroup
	ended.Add(n)
	errs := make([]error, n)
	job, err := runtime.Start(context.Background(), runtime.Config{Size: n, Transport: "inproc", Poison: true, Guard: true}, func(ctx context.Context, r *runtime.Rank) {
		defer ended.Done()
		r.Begin(ctx)
		errs[r.ID()] = r.End(body(r))
	})
	if err != nil {
		t.Fatal(err)
	}
	ended.Wait()
	job.Stop()
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d of %d: %v", rank, n, err)
		}
	}
}

// A way is a redistribution: a tensor and its placements before and after.
type way struct {
	shape    []int
	from, to []mesh.Placement
	dt       dtype.DType
}

func (w *way) String() string {
	return fmt.Sprintf("%v%v from %s to %s", w.dt, shape.Shape(w.shape), mesh.List(w.from), mesh.List(w.to))
}

// waysOf returns the redistributions that are tried on a mesh of so many dims:
// all pairs of placements of tensors of one dim, of 0 to 17 elements, and some
// of tensors of two. Of every so many of the first one is taken.
func waysOf(dims, every, twos int) []*way {
	var list []*way
	from := tuples(dims, choices(1))
	k := 0
	for n := 0; n <= 17; n++ {
		for _, f := range from {
			for _, to := range targets(f, 1) {
				if k++; k%every == 0 {
					list = append(list, &way{[]int{n}, f, to, [...]dtype.DType{dtype.Float64, dtype.Float32}[(n+k)%2]})
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(uint64(dims), 5))
	from = tuples(dims, choices(2))
	for range twos {
		f := from[rng.IntN(len(from))]
		to := targets(f, 2)
		list = append(list, &way{[]int{rng.IntN(9), 1 + rng.IntN(17)}, f, to[rng.IntN(len(to))], dtype.Float32})
	}
	return list
}

// choices returns the placements along one mesh dim of a tensor of so many dims.
func choices(ndim int) []mesh.Placement {
	list := []mesh.Placement{mesh.Replicate()}
	for d := range ndim {
		list = append(list, mesh.Shard(d))
	}
	for _, by := range []mesh.ReduceOp{mesh.Sum, mesh.Mean, mesh.Prod, mesh.Max, mesh.Min} {
		list = append(list, mesh.Partial(by))
	}
	return list
}

// targets returns the placements that a tensor placed as from may go to: Partial
// stays, or goes to what is not Partial.
func targets(from []mesh.Placement, ndim int) [][]mesh.Placement {
	lists := [][]mesh.Placement{{}}
	for _, p := range from {
		var longer [][]mesh.Placement
		for _, l := range lists {
			for _, q := range choices(ndim) {
				if _, partial := q.Partial(); !partial || p == q {
					longer = append(longer, append(slices.Clone(l), q))
				}
			}
		}
		lists = longer
	}
	return lists
}

// tuples returns all tuples of so many of list.
func tuples(n int, list []mesh.Placement) [][]mesh.Placement {
	lists := [][]mesh.Placement{{}}
	for range n {
		var longer [][]mesh.Placement
		for _, l := range lists {
			for _, p := range list {
				longer = append(longer, append(slices.Clone(l), p))
			}
		}
		lists = longer
	}
	return lists
}

// term returns what the rank at the given coordinates of a mesh holds of
// element i of a tensor: the coordinates along dims that are Partial tell.
func (w *way) term(i int, at []int) float64 {
	h := uint32(i)*2654435761 + 12345
	for d, p := range w.from {
		if _, ok := p.Partial(); ok {
			h = (h ^ uint32(at[d]+1)) * 2246822519
		}
	}
	return float64(int(h>>16)%4+1) * (1 - 2*float64(h>>9&1))
}

// value returns what the rank at the given coordinates is to hold of element i
// after w: the reduction of the terms along the dims from d on that do not stay
// Partial.
func (w *way) value(m *mesh.Mesh, i, d int, at []int) float64 {
	if d == len(w.from) {
		return w.term(i, at)
	}
	by, partial := w.from[d].Partial()
	if !partial || w.to[d] == w.from[d] {
		return w.value(m, i, d+1, at)
	}
	at = slices.Clone(at)
	v := 0.0
	for k := range m.Shape()[d] {
		at[d] = k
		u := w.value(m, i, d+1, at)
		switch {
		case k == 0:
			v = u
		case by == mesh.Prod:
			v *= u
		case by == mesh.Max:
			v = max(v, u)
		case by == mesh.Min:
			v = min(v, u)
		default:
			v += u
		}
	}
	if by == mesh.Mean {
		v /= float64(m.Shape()[d])
	}
	return v
}

// block returns the rank's block in l of a tensor with elements f(i), by
// position in row-major order.
func block(r *runtime.Rank, l *mesh.Placed, dt dtype.DType, f func(i int) float64) (*tensor.Tensor, error) {
	x, err := tensor.New(r.Ops().Alloc, dt, l.LocalShape(r.ID()))
	if err != nil {
		return nil, err
	}
	eachElement(r, l, func(k, i int) {
		if dt == dtype.Float32 {
			tensor.Data[float32](x)[k] = float32(f(i))
		} else {
			tensor.Data[float64](x)[k] = f(i)
		}
	})
	return x, nil
}

// eachElement calls f for each element of the rank's block in l: the k-th of the
// block is the i-th of the whole.
func eachElement(r *runtime.Rank, l *mesh.Placed, f func(k, i int)) {
	box, _ := l.Box(r.ID())
	sizes, strides := box.Shape(), shape.Shape(l.Shape()).Strides()
	for k := range box.Numel() {
		i, rest := 0, k
		for d := len(sizes) - 1; d >= 0; d-- {
			i += (box.Lo[d] + rest%sizes[d]) * strides[d]
			rest /= sizes[d]
		}
		f(k, i)
	}
}

// A meter is what one rank moved: as the trace counts it, and as the plan says.
type meter struct{ sent, received, planned int }

// walk carries w out on one rank and checks the result and what it moved.
func (w *way) walk(r *runtime.Rank, m *mesh.Mesh) (meter, error) {
	src, err := r.Layouts().Place(m, w.shape, w.from)
	if err != nil {
		return meter{}, err
	}
	dst, err := r.Layouts().Place(m, w.shape, w.to)
	if err != nil {
		return meter{}, err
	}
	at := m.Coordinate(r.ID())
	local, err := block(r, src, w.dt, func(i int) float64 { return w.term(i, at) })
	if err != nil {
		return meter{}, err
	}
	x := tensor.NewPlaced(src, local)
	plan, planErr := r.Layouts().Plan(src, dst, w.dt.Size())
	trace := r.StartTrace()
	y, err := r.Shard.Redistribute("redistribute", x, dst)
	r.StopTrace(trace)
	if planErr != nil {
		var bad *op.ArgError
		if !errors.As(err, &bad) || len(trace.Records) > 0 {
			return meter{}, fmt.Errorf("got error %v, %d calls, want an *op.ArgError for %v", err, len(trace.Records), planErr)
		}
		return meter{}, nil
	}
	if err != nil {
		return meter{}, err
	}
	if err := w.check(r, m, x, y, dst); err != nil {
		return meter{}, err
	}
	return w.measure(r, plan, trace, src, dst)
}

// check compares y, what x became, with what it should be.
func (w *way) check(r *runtime.Rank, m *mesh.Mesh, x, y *tensor.Tensor, dst *mesh.Placed) error {
	at := m.Coordinate(r.ID())
	local := y.Local()
	switch {
	case y.Layout() != dst || y.DType() != w.dt || !local.Shape().Equal(dst.LocalShape(r.ID())):
		return fmt.Errorf("got %v as %v", op.Describe(local), y.Layout())
	case x.Numel() > 0 && y.Buffer() == x.Buffer():
		return errors.New("the result shares storage with what was redistributed")
	}
	var wrong error
	eachElement(r, dst, func(k, i int) {
		got, want := op.Float64At(local, k), w.value(m, i, 0, at)
		if math.Abs(got-want) > 1e-5*math.Abs(want) && wrong == nil {
			wrong = fmt.Errorf("element %d is %v, want %v", i, got, want)
		}
	})
	return wrong
}

// quickest reports whether a plan takes less time than all others, as one may that
// moves more than ranks lack.
func quickest(plan *mesh.Plan, src, dst *mesh.Placed, size int) bool {
	all, err := mesh.Explain(src, dst, size)
	return err == nil && len(all) > 1 && all[0].Bytes == plan.Bytes && plan.Seconds < all[1].Seconds
}

// measure compares what the trace counted with the plan, step by step, and what
// the rank received with what it lacked.
func (w *way) measure(r *runtime.Rank, plan *mesh.Plan, trace *runtime.Trace, src, dst *mesh.Placed) (meter, error) {
	me, size := r.ID(), w.dt.Size()
	mt := meter{planned: plan.Bytes}
	k := 0
	for i := range plan.Steps {
		s := &plan.Steps[i]
		sent, received := s.Traffic(me, size)
		mt.received += received
		if !s.Communicates() || len(s.Group(me)) == 1 {
			continue
		}
		if k >= len(trace.Records) {
			return mt, fmt.Errorf("%d calls, want one for each step of %v that communicates", k, plan.Steps)
		}
		rec := trace.Records[k]
		k++
		if rec.Op != s.Op.String() || rec.Wire != sent {
			return mt, fmt.Errorf("step %d: %s sends %d bytes, want %v of %d", i, rec.Op, rec.Wire, s.Op, sent)
		}
		mt.sent += rec.Wire
	}
	if k != len(trace.Records) {
		return mt, fmt.Errorf("%d calls, want %d", len(trace.Records), k)
	}
	if most := mesh.Lacks(src, dst, me)*size + w.reduction(src, me); mt.received > most && !quickest(plan, src, dst, size) {
		return mt, fmt.Errorf("receives %d bytes, want at most %d", mt.received, most)
	}
	return mt, nil
}

// reduction returns the bytes that rank may receive beside those it lacks: those
// of an all-reduce of its block for each operation that applies, of the mesh dims
// that have it together.
func (w *way) reduction(src *mesh.Placed, rank int) int {
	box, _ := src.Box(rank)
	bytes := 0
	var run []int
	end := func() {
		if run != nil {
			line := src.Mesh().Line(rank, run...)
			bytes += mesh.AllReduceBytes(box.Numel()*w.dt.Size(), w.dt.Size(), len(line), slices.Index(line, rank))
		}
		run = nil
	}
	for d, p := range slices.Backward(w.from) {
		if _, ok := p.Partial(); !ok || w.to[d] == p {
			continue
		}
		if run != nil && p != w.from[run[0]] {
			end()
		}
		run = append([]int{d}, run...)
	}
	end()
	return bytes
}

// Every redistribution gives each rank its block of the same tensor, and moves
// no more than what the ranks lack, as the plan says.
func TestRedistribute(t *testing.T) {
	total := 0
	for _, c := range []struct {
		sizes       []int
		every, twos int
	}{
		{[]int{2}, 1, 200}, {[]int{3}, 1, 200}, {[]int{4}, 1, 200},
		{[]int{2, 2}, 1, 400}, {[]int{2, 3}, 2, 400}, {[]int{2, 2, 2}, 31, 300},
	} {
		if *everyCase {
			c.every, c.twos = 1, 20*c.twos
		}
		m, err := mesh.New(c.sizes, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(m.Short(), func(t *testing.T) {
			ways := waysOf(len(c.sizes), c.every, c.twos)
			total += len(ways)
			redistribute(t, m, ways)
			t.Logf("%d redistributions", len(ways))
		})
	}
	t.Logf("%d redistributions", total)
}

// The dims of a mesh may cut in any order, before and after.
func TestRedistributeOrders(t *testing.T) {
	for _, c := range []struct {
		sizes       []int
		every, twos int
	}{{[]int{2, 2}, 1, 600}, {[]int{2, 3}, 3, 600}, {[]int{2, 2, 2}, 41, 600}} {
		m, err := mesh.New(c.sizes, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(m.Short(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(m.Size()), 7))
			var ways []*way
			for _, w := range waysOf(len(c.sizes), c.every, c.twos) {
				o := &way{w.shape, mesh.InOrder(m, w.from, rng.Perm(m.NDim())), mesh.InOrder(m, w.to, rng.Perm(m.NDim())), w.dt}
				if !slices.Equal(o.from, w.from) || !slices.Equal(o.to, w.to) {
					ways = append(ways, o)
				}
			}
			redistribute(t, m, ways)
			t.Logf("%d redistributions", len(ways))
		})
	}
}

// redistribute carries ways out on the ranks of m, and compares what all of them
// sent with what all of them received.
func redistribute(t *testing.T, m *mesh.Mesh, ways []*way) {
	t.Helper()
	n := m.Size()
	meters := make([][]meter, n)
	onRanks(t, n, func(r *runtime.Rank) error {
		own, err := mesh.New(m.Shape(), nil, nil)
		if err != nil {
			return err
		}
		own = r.Layouts().Mesh(own)
		for _, w := range ways {
			mt, err := w.walk(r, own)
			if err != nil {
				return fmt.Errorf("%v: %w", w, err)
			}
			meters[r.ID()] = append(meters[r.ID()], mt)
		}
		return nil
	})
	if t.Failed() {
		return
	}
	for k, w := range ways {
		sent, received, most := 0, 0, 0
		for rank := range n {
			mt := meters[rank][k]
			sent += mt.sent
			received += mt.received
			most = max(most, mt.received)
		}
		if planned := meters[0][k].planned; sent != received || most != planned {
			t.Errorf("%v: %d bytes sent, %d received, at most %d by a rank, %d planned", w, sent, received, most, planned)
		}
	}
}

// An all-reduce sends what package mesh says, which plans with it.
func TestAllReduceBytes(t *testing.T) {
	const edge = 32 << 10
	for n := 1; n <= 6; n++ {
		onRanks(t, n, func(r *runtime.Rank) error {
			for _, dt := range []dtype.DType{dtype.Uint8, dtype.Float16, dtype.Float32, dtype.Float64} {
				for _, bytes := range []int{0, 8, 64, 104, 1000, edge - 64, edge - 8, edge, edge + 8, edge + 72, 3*edge + 1000, 10 * edge} {
					x, err := tensor.New(r.Ops().Alloc, dt, shape.Shape{bytes / dt.Size()})
					if err != nil {
						return err
					}
					clear(x.Bytes())
					trace := r.StartTrace()
					_, err = r.Run(r.World(), runtime.Collective{Op: "all_reduce", Reduce: "sum"}, x)
					r.StopTrace(trace)
					if err != nil {
						return err
					}
					if got, want := trace.Records[0].Wire, mesh.AllReduceBytes(bytes, dt.Size(), n, r.ID()); got != want {
						return fmt.Errorf("all_reduce of %d bytes of %v sends %d, want %d", bytes, dt, got, want)
					}
				}
			}
			return nil
		})
	}
}
