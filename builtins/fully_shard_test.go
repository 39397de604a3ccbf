package builtins_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"tpsh/builtins/builtinstest"
	"tpsh/runtime"
	"tpsh/runtime/tensor"
)

// The model of the memory tests: equal units of one matrix each, made and cut one
// after another.
const (
	memoryUnits = 8
	memoryWidth = 512
	unitBytes   = 4 * memoryWidth * memoryWidth
)

// trainScript trains the model for two steps of Adam. On a rank it holds activations
// of a few KiB, which do not count: they are the collector's. The ranks hold what
// they have trained until all have.
const trainScript = `
def layer():
    return nn.Linear(%[1]d, %[1]d, bias=False)

def main():
    mesh = init_device_mesh("cpu", (world_size(),))
    prepare = (lambda m: fully_shard(m, mesh)) if %[3]v else (lambda m: m)
    m = prepare(nn.Sequential(*[prepare(layer()) for _ in range(%[2]d)]))
    opt = optim.Adam(m.parameters())
    for _ in range(2):
        opt.zero_grad()
        m(ones(4, %[1]d)).sum().backward()
        opt.step()
    barrier()

main()
`

// trainIn trains the model on n ranks that have limit bytes together, and returns
// the first error.
func trainIn(t *testing.T, n, limit int, shard bool) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	truth := map[bool]string{true: "True", false: "False"}[shard]
	s := builtinstest.Script{Name: "memory.star", Source: fmt.Sprintf(trainScript, memoryWidth, memoryUnits, truth)}
	errs := make([]error, n)
	var done sync.WaitGroup
	done.Add(n)
	job, err := runtime.Start(ctx, runtime.Config{Size: n, Transport: "inproc", MaxMem: limit}, func(ctx context.Context, r *runtime.Rank) {
		defer done.Done()
		errs[r.ID()] = s.RunRank(ctx, r).Err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Stop()
	done.Wait()
	for _, err := range errs {
		var m *tensor.MemoryError
		if errors.As(err, &m) {
			return m
		}
	}
	return errors.Join(errs...)
}

// fullyShardedPeak is the formula of fully_shard's documentation, in bytes, for a
// model of equal units on n ranks, trained by Adam, whose state is two numbers for
// each parameter: 1/n of the parameters, their gradients and the state, and three
// units.
func fullyShardedPeak(n int) int { return memoryUnits*unitBytes*4/n + 3*unitBytes }

// TestFullyShardedMemory trains with as much memory as the formula allows. What is
// in use beyond that is an error of the allocator, once it has collected what
// nothing can reach. Neither the model as a whole fits, nor what is cut without
// room for a unit.
func TestFullyShardedMemory(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		peak := fullyShardedPeak(n)
		if err := trainIn(t, n, n*peak, true); err != nil {
			t.Errorf("on %d ranks with %d bytes each: %v", n, peak, err)
		}
		if n > 1 && trainIn(t, n, n*peak, false) == nil {
			t.Errorf("on %d ranks with %d bytes each: the whole model fits", n, peak)
		}
		if least := peak - 3*unitBytes; trainIn(t, n, n*least, true) == nil {
			t.Errorf("on %d ranks with %d bytes each: a model fits that takes more", n, least)
		}
	}
}
