package commtest

import (
	"fmt"
	"testing"

	"tpsh/comm"
)

// testAsync checks asynchronous calls.
func testAsync(t *testing.T, open Opener) {
	for _, test := range []struct {
		name string
		size int
		run  func(r *rank) error
	}{
		{"every kind", 3, asyncKinds},
		{"no wait is needed", 2, asyncNeedsNoWait},
		{"many at a time", 3, asyncMany},
		{"mixed with plain calls", 3, asyncMixed},
		{"waits for the last first", 2, asyncBackwards},
	} {
		t.Run(test.name, func(t *testing.T) { succeed(t, runRanks(t, open, test.size, test.run)) })
	}
}

func asyncKinds(r *rank) error {
	for _, k := range kinds {
		for _, name := range []string{"one", "uneven", "empty", "large"} {
			tr := newTrial(k, r.size, r.size-1, lengths[name], false)
			op, out := tr.op(r.Rank())
			if _, err := r.world.Issue(op).Wait(r.ctx); err != nil {
				return err
			}
			if err := tr.compare(r.Rank(), op, out); err != nil {
				return fmt.Errorf("%s, %s: %w", k.String(), name, err)
			}
		}
	}
	return nil
}

// asyncNeedsNoWait would deadlock if Issue waited: rank 1 calls the collective
// after it has the message that rank 0 sends after it has issued it.
func asyncNeedsNoWait(r *rank) error {
	op, out := allReduce(floats(1))
	if r.Rank() == 1 {
		if _, err := r.world.Recv(r.ctx, 0, 0, nil); err != nil {
			return err
		}
		_, err := r.world.Run(r.ctx, op)
		return err
	}
	work := r.world.Issue(op)
	if work.Done() {
		return fmt.Errorf("done before rank 1 has called")
	}
	if err := r.world.Send(1, 0, comm.Message{}, ""); err != nil {
		return err
	}
	if _, err := work.Wait(r.ctx); err != nil {
		return err
	}
	if got := float32At(out, 0); got != 2 || !work.Done() {
		return fmt.Errorf("got %v, done %v, want 2, done", got, work.Done())
	}
	return nil
}

// asyncMany has many calls under way, and waits for none before all are issued.
func asyncMany(r *rank) error {
	const count = 100
	var works []comm.Work
	var outs [][]byte
	for i := range count {
		op, out := allReduce(floats(float32(i)))
		works, outs = append(works, r.world.Issue(op)), append(outs, out)
	}
	for i, w := range works {
		if _, err := w.Wait(r.ctx); err != nil {
			return err
		}
		if got := float32At(outs[i], 0); got != float32(3*i) {
			return fmt.Errorf("call %d: got %v, want %d", i, got, 3*i)
		}
	}
	return nil
}

// asyncMixed has members call the same, some asynchronously.
func asyncMixed(r *rank) error {
	for i := range 20 {
		op, out := allReduce(floats(1))
		var err error
		if (i+r.Rank())%3 == 0 {
			_, err = r.world.Issue(op).Wait(r.ctx)
		} else {
			_, err = r.world.Run(r.ctx, op)
		}
		if err != nil {
			return err
		}
		if got := float32At(out, 0); got != 3 {
			return fmt.Errorf("call %d: got %v, want 3", i, got)
		}
	}
	return nil
}

// asyncBackwards waits for two calls in different orders.
func asyncBackwards(r *rank) error {
	a, _ := allReduce(floats(1))
	b, _ := allReduce(floats(2))
	works := []comm.Work{r.world.Issue(a), r.world.Issue(b)}
	for i := range works {
		if _, err := works[(i+r.Rank())%2].Wait(r.ctx); err != nil {
			return err
		}
	}
	return nil
}
