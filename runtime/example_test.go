package runtime_test

import (
	"context"
	"fmt"
	"sync"

	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// Two ranks add up what they have.
func ExampleStart() {
	sums := make([]float64, 2)
	var ended sync.WaitGroup
	ended.Add(2)
	job, err := runtime.Start(context.Background(), runtime.Config{Size: 2, Transport: "inproc"}, func(ctx context.Context, r *runtime.Rank) {
		defer ended.Done()
		r.Begin(ctx)
		x, err := op.FromFloats(r.Ops(), dtype.Float32, shape.Shape{1}, []float64{float64(r.ID() + 1)})
		if err == nil {
			x, err = r.Run(r.World(), runtime.Collective{Op: "all_reduce", Reduce: "sum"}, x)
		}
		if r.End(err) == nil {
			sums[r.ID()] = op.Float64At(x, 0)
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended.Wait()
	job.Stop()
	fmt.Println(sums)
	// Output: [3 3]
}
