package runtime

import (
	"context"
	"fmt"
	"time"
)

// faults are those that a script asked for on one rank, by operation and the
// number of the call.
type faults struct {
	calls map[string]int
	at    map[string]map[int]fault
}

// A fault strikes a rank before a call: it dies there, or comes late.
type fault struct {
	kill  bool
	delay time.Duration
}

// A KilledError is the death of a rank that faults.kill asked for. Nothing
// that the rank runs catches it.
type KilledError struct {
	Rank int
	At   string
}

func (e *KilledError) Error() string {
	return fmt.Sprintf("faults.kill: rank %d was killed at %s", e.Rank, e.At)
}

// Kind returns "peer".
func (e *KilledError) Kind() string { return "peer" }

// Ranks returns the rank that was killed.
func (e *KilledError) Ranks() []int { return []int{e.Rank} }

// Killed reports that the rank was killed on purpose.
func (e *KilledError) Killed() bool { return true }

// Uncatchable reports that the error ends the program whatever it does.
func (e *KilledError) Uncatchable() bool { return true }

// Kill makes the rank die when it calls operation op for the n-th time, n
// from 1.
func (r *Rank) Kill(op string, n int) { r.addFault(op, n, fault{kill: true}) }

// Delay makes the rank wait for d before it calls operation op for the n-th
// time.
func (r *Rank) Delay(op string, n int, d time.Duration) { r.addFault(op, n, fault{delay: d}) }

// addFault plans f for the n-th call of operation op, beside the faults planned for it already.
func (r *Rank) addFault(op string, n int, f fault) {
	if r.faults.at == nil {
		r.faults.at = map[string]map[int]fault{}
	}
	if r.faults.at[op] == nil {
		r.faults.at[op] = map[int]fault{}
	}
	was := r.faults.at[op][n]
	r.faults.at[op][n] = fault{kill: was.kill || f.kill, delay: was.delay + f.delay}
}

// enter counts a call of op, and carries out the faults planned for it.
func (r *Rank) enter(op string) error {
	if r.aside {
		return &AsideError{op}
	}
	if r.quiet {
		return nil
	}
	if r.faults.calls == nil {
		r.faults.calls = map[string]int{}
	}
	r.faults.calls[op]++
	n := r.faults.calls[op]
	f, ok := r.faults.at[op][n]
	if !ok {
		return nil
	}
	if f.delay > 0 {
		if err := sleep(r.ctx, f.delay); err != nil {
			return err
		}
	}
	if f.kill {
		err := &KilledError{Rank: r.id, At: fmt.Sprintf("%s#%d", op, n)}
		r.end.End(err)
		return err
	}
	return nil
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
