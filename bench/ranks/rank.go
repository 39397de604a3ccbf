package main

import (
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"tpsh/comm"
	"tpsh/comm/process"
	"tpsh/internal/allowance"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
)

// A worker is a rank that measures.
type worker struct {
	ctx   context.Context
	world *comm.Group
	round time.Duration
}

// rank measures all cases as one of the ranks. It is set up as a rank of tpsh
// is: see the command's worker.
func (j *job) rank(ctx context.Context, rank int) error {
	links, err := j.connect(ctx, rank)
	if err != nil {
		return err
	}
	return j.measureAll(ctx, links, rank, 0)
}

// measureAll measures all cases on links, which it closes. So many threads are
// busy with other things.
func (j *job) measureAll(ctx context.Context, links *process.Links, rank, busy int) error {
	defer links.Close()
	goruntime.GOMAXPROCS(max(2, allowance.Processors()/j.ranks) + busy)
	debug.SetGCPercent(400)
	fabric := links.Fabric(0)
	defer fabric.Close()
	endpoint := fabric.Endpoint(rank)
	var all []int
	for r := range j.ranks {
		all = append(all, r)
	}
	world, err := endpoint.Group(all, "")
	if err != nil {
		return err
	}
	w := &worker{ctx: ctx, round: j.round, world: world}
	if j.profile != "" && rank == 0 {
		f, err := os.Create(j.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for _, text := range j.cases {
		c, err := parseCase(text)
		if err != nil {
			return err
		}
		best, err := w.measure(c)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if rank == 0 {
			fmt.Println("seconds", text, best)
		}
	}
	endpoint.End(nil)
	fabric.Unreceived()
	return nil
}

const (
	rounds = 5 // of which the fastest counts
	least  = 2 // rounds, however long they take
	share  = 6 // times the time of a round that a case may take, unless it has fewer than least
)

// measure returns the seconds of a call on the slowest rank, in the fastest
// round.
func (w *worker) measure(c *benchCase) (float64, error) {
	call := w.call(c)
	if _, err := w.time(1, call); err != nil {
		return 0, err
	}
	n, best, total := 1, 0.0, 0.0
	for range least {
		took, err := w.time(n, call)
		if err != nil {
			return 0, err
		}
		best = took / float64(n)
		n = max(1, min(100*n, int(w.round.Seconds()/best)))
	}
	for i := 0; i < rounds && (i < least || total < share*w.round.Seconds()); i++ {
		took, err := w.time(n, call)
		if err != nil {
			return 0, err
		}
		best = min(best, took/float64(n))
		total += took
	}
	return best * c.part, nil
}

// time returns how long n calls take the slowest rank, which begins when all
// are there.
func (w *worker) time(n int, call func() error) (float64, error) {
	if _, err := w.world.Run(w.ctx, barrier); err != nil {
		return 0, err
	}
	since := time.Now()
	for range n {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return w.slowest(time.Since(since).Seconds())
}

// slowest returns the greatest of what the ranks say.
func (w *worker) slowest(seconds float64) (float64, error) {
	in, out := []float64{seconds}, []float64{0}
	op := operation("all_reduce", comm.AllReduce, 1)
	op.Desc.DType, op.Desc.Reduce, op.Align = "float64", "max", 8
	op.In, op.Reduce = []comm.Block{wholeOf(in)}, comm.Reducer(kernel.Combiner(dtype.Float64, "max"))
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return []comm.Block{wholeOf(out)}, nil }
	_, err := w.world.Run(w.ctx, op)
	return out[0], err
}
