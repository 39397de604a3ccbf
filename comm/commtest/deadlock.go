package commtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"tpsh/comm"
)

// A standstill is a program for each rank that comes to a deadlock.
type standstill struct {
	name string
	size int
	run  func(r *rank) error
	want map[int]string // by rank: the error of its function, "" for none
}

var standstills = []standstill{
	{
		"everyone receives", 3,
		func(r *rank) error { return r.recv((r.Rank() + 1) % r.size) },
		alike(3, "recv: deadlock: rank 0 waits in recv(src=1, tag=0) at recv of 0, "+
			"rank 1 waits in recv(src=2, tag=0) at recv of 1, rank 2 waits in recv(src=0, tag=0) at recv of 2"),
	},
	{
		"a receive from itself", 1,
		func(r *rank) error { return r.recv(0) },
		alike(1, "recv: deadlock: rank 0 waits in recv(src=0, tag=0) at recv of 0"),
	},
	{
		"a receive from one that has ended", 2,
		func(r *rank) error {
			if r.Rank() == 1 {
				return nil
			}
			return r.recv(1)
		},
		map[int]string{0: "recv: deadlock: rank 0 waits in recv(src=1, tag=0) at recv of 0; rank 1 has ended", 1: ""},
	},
	{
		"a collective that some have ended without", 4,
		func(r *rank) error {
			if r.Rank() >= 2 {
				return nil
			}
			return r.barrier(r.world)
		},
		map[int]string{
			0: "barrier: deadlock: rank 0 waits in barrier() at line of 0 for ranks 2,3, " +
				"rank 1 waits in barrier() at line of 1 for ranks 2,3; ranks 2,3 have ended",
			1: "barrier: deadlock: rank 0 waits in barrier() at line of 0 for ranks 2,3, " +
				"rank 1 waits in barrier() at line of 1 for ranks 2,3; ranks 2,3 have ended",
			2: "", 3: "",
		},
	},
	{
		"a collective and a receive", 3,
		func(r *rank) error {
			if r.Rank() == 1 {
				return r.recv(0)
			}
			return r.barrier(r.world)
		},
		alike(3, "barrier: deadlock: rank 0 waits in barrier() at line of 0 for rank 1, "+
			"rank 1 waits in recv(src=0, tag=0) at recv of 1"),
	},
	{
		"two groups in two orders", 2,
		func(r *rank) error {
			groups := []*comm.Group{r.group([]int{0, 1}, "a"), r.group([]int{0, 1}, "b")}
			return r.barrier(groups[r.Rank()])
		},
		alike(2, `barrier: deadlock: rank 0 waits in barrier() in group [0, 1] "a" at line of 0 for rank 1, `+
			`rank 1 waits in barrier() in group [0, 1] "b" at line of 1 for rank 0`),
	},
	{
		"a group in another order than that of its ranks", 3,
		func(r *rank) error {
			if r.Rank() != 1 {
				return nil
			}
			return r.barrier(r.group([]int{2, 1, 0}, "a"))
		},
		map[int]string{
			0: "", 2: "",
			1: `barrier: deadlock: rank 1 waits in barrier() in group [2, 1, 0] "a" at line of 1 for ranks 0,2; ranks 0,2 have ended`,
		},
	},
	{
		"the wrong tag", 2,
		func(r *rank) error {
			if r.Rank() == 1 {
				if err := r.world.Send(0, 5, comm.Message{}, ""); err != nil {
					return err
				}
				return r.barrier(r.world)
			}
			return r.recv(1)
		},
		alike(2, "recv: deadlock: rank 0 waits in recv(src=1, tag=0) at recv of 0, "+
			"rank 1 waits in barrier() at line of 1 for rank 0"),
	},
	{
		"the work of a call that one never makes", 2,
		func(r *rank) error {
			if r.Rank() == 1 {
				return r.recv(0)
			}
			op, _ := allReduce(floats(1))
			_, err := r.world.Issue(op).Wait(r.ctx)
			return err
		},
		alike(2, `all_reduce: deadlock: rank 0 waits in all_reduce(float32[1], op="sum") at line of 0 for rank 1, `+
			"rank 1 waits in recv(src=0, tag=0) at recv of 1"),
	},
	{
		"one that is ended by a bystander's call", 3,
		func(r *rank) error {
			switch r.Rank() {
			case 0:
				return r.barrier(r.world)
			case 1:
				return r.recv(0)
			}
			r.world.Issue(barrier()) // now rank 0 waits for rank 1 alone
			_, err := r.group([]int{2, 1}, "").Recv(r.ctx, 1, 0, line("recv of 2"))
			return err
		},
		map[int]string{
			0: "barrier: deadlock: rank 0 waits in barrier() at line of 0 for rank 1, rank 1 waits in recv(src=0, tag=0) at recv of 1",
			1: "barrier: deadlock: rank 0 waits in barrier() at line of 0 for rank 1, rank 1 waits in recv(src=0, tag=0) at recv of 1",
			2: "recv: rank 1 failed: ...",
		},
	},
}

// alike returns the same error for every rank.
func alike(size int, text string) map[int]string {
	want := map[int]string{}
	for i := range size {
		want[i] = text
	}
	return want
}

// recv receives from a member of the world, in the line "recv of" the rank.
func (r *rank) recv(src int) error {
	_, err := r.world.Recv(r.ctx, src, 0, line(fmt.Sprintf("recv of %d", r.Rank())))
	return err
}

// full has what depends on which rank comes when tried more often on each transport. All of them
// find deadlocks alike, so that together they try each many times without it.
var full = flag.Bool("full", false, "try each deadlock 20 times on every transport, not 4 times")

// testDeadlock checks the reports, several times each: they do not depend on which rank
// comes when.
func testDeadlock(t *testing.T, open Opener) {
	times := 4
	if *full {
		times = 20
	}
	for _, s := range standstills {
		t.Run(s.name, func(t *testing.T) {
			for range times {
				checkStandstill(t, open, s)
			}
		})
	}
	t.Run("beside a rank that runs", func(t *testing.T) { deadlockBeside(t, open, false) })
	t.Run("beside a rank that has called", func(t *testing.T) { deadlockBeside(t, open, true) })
	t.Run("a bystander goes on waiting", func(t *testing.T) { deadlockBystander(t, open) })
	t.Run("a message on its way", func(t *testing.T) { deadlockNot(t, open) })
}

func checkStandstill(t *testing.T, open Opener, s standstill) {
	t.Helper()
	for i, err := range runRanks(t, open, s.size, s.run) {
		got := ""
		if err != nil {
			got = err.Error()
		}
		if peer := (*comm.PeerError)(nil); errors.As(err, &peer) {
			got = fmt.Sprintf("%s: rank %d failed: ...", peer.Func, peer.Rank)
		}
		if got != s.want[i] {
			t.Errorf("rank %d: got  %q\nwant %q", i, got, s.want[i])
		}
		if dead := (*comm.DeadlockError)(nil); errors.As(err, &dead) && dead.Kind() != "deadlock" {
			t.Errorf("rank %d: got kind %q", i, dead.Kind())
		}
	}
}

// deadlockBeside has two ranks wait for each other while a third does not wait
// at all. If called is set, it is the third's call, which it does not wait for,
// after which rank 0 waits for rank 1 alone.
func deadlockBeside(t *testing.T, open Opener, called bool) {
	found := make(chan struct{}, 2)
	succeed(t, runRanks(t, open, 3, func(r *rank) error {
		if r.Rank() == 2 {
			if called {
				time.Sleep(time.Millisecond)
				r.world.Issue(barrier())
			}
			for range 2 {
				select {
				case <-found:
				case <-r.ctx.Done():
					return context.Cause(r.ctx)
				}
			}
			return nil
		}
		var err error
		if called && r.Rank() == 0 {
			err = r.barrier(r.world)
		} else {
			err = r.recv(1 - r.Rank())
		}
		found <- struct{}{}
		return wantDeadlock(err, 0, 1)
	}))
}

// wantDeadlock returns nil if err is a deadlock of ranks.
func wantDeadlock(err error, ranks ...int) error {
	var dead *comm.DeadlockError
	if !errors.As(err, &dead) || !slices.Equal(dead.Ranks(), ranks) {
		return fmt.Errorf("got %v, want a deadlock of %v", err, ranks)
	}
	return nil
}

// deadlockBystander has rank 2 wait in a barrier for two ranks that wait for
// each other, until they come.
func deadlockBystander(t *testing.T, open Opener) {
	succeed(t, runRanks(t, open, 3, func(r *rank) error {
		if r.Rank() < 2 {
			if err := wantDeadlock(r.recv(1-r.Rank()), 0, 1); err != nil {
				return err
			}
		}
		return r.barrier(r.world)
	}))
}

// deadlockNot has ranks wait for each other that have sent the messages that the others
// wait for, so that nothing but time is in their way.
func deadlockNot(t *testing.T, open Opener) {
	succeed(t, runRanks(t, open, 4, func(r *rank) error {
		for round := range 100 {
			for dst := range r.size {
				if err := r.world.Send(dst, 0, comm.Message{Data: []byte{byte(round)}}, ""); err != nil {
					return err
				}
			}
			for i := range r.size {
				m, err := r.world.Recv(r.ctx, (r.Rank()+i)%r.size, 0, nil)
				if err != nil {
					return err
				}
				if m.Data[0] != byte(round) {
					return fmt.Errorf("round %d: got message %d", round, m.Data[0])
				}
			}
		}
		return nil
	}))
}

// testRecovery checks that ranks whose calls have failed in a deadlock are in
// step afterwards.
func testRecovery(t *testing.T, open Opener) {
	for _, test := range []struct {
		name string
		size int
		run  func(r *rank) error
	}{
		{"a receive", 2, func(r *rank) error { return wantDeadlock(r.recv(1-r.Rank()), 0, 1) }},
		{"a call that one has not made", 3, recoverCall},
		{"a call that was issued", 2, recoverWork},
		{"a bystander in the call", 4, recoverBystander},
		{"a message sent afterwards", 2, recoverMessage},
	} {
		t.Run(test.name, func(t *testing.T) {
			succeed(t, runRanks(t, open, test.size, func(r *rank) error {
				for range 10 {
					if err := test.run(r); err != nil {
						return err
					}
					if got, err := r.sum(r.world, 1); err != nil || got != float32(r.size) {
						return fmt.Errorf("afterwards: got %v and %v, want %d", got, err, r.size)
					}
				}
				return nil
			}))
		})
	}
}

// recoverCall has rank 0 receive a message that never comes before it calls the collective that the
// others wait in: when it does, the call has failed.
func recoverCall(r *rank) error {
	if r.Rank() == 0 {
		if err := wantDeadlock(r.recv(1), 0, 1); err != nil {
			return err
		}
	}
	return wantDeadlock(r.barrier(r.world), 0, 1)
}

// recoverWork has rank 0 wait for a work that rank 1 does not contribute to.
func recoverWork(r *rank) error {
	op, _ := allReduce(floats(1))
	if r.Rank() == 1 {
		if err := wantDeadlock(r.recv(0), 0, 1); err != nil {
			return err
		}
	}
	later := barrier()
	work := r.world.Issue(op)
	if r.Rank() == 0 {
		_, err := work.Wait(r.ctx)
		if err := wantDeadlock(err, 0, 1); err != nil {
			return err
		}
	}
	if _, err := r.world.Issue(later).Wait(r.ctx); err != nil {
		return fmt.Errorf("the call after it: %w", err)
	}
	_, err := work.Wait(r.ctx)
	return wantDeadlock(err, 0, 1)
}

// recoverBystander has rank 0 in a barrier and rank 1 in a receive wait for
// each other. Rank 2 is in the barrier too, and rank 3 in a deadlock of its own.
func recoverBystander(r *rank) error {
	if r.Rank() == 3 {
		return wantDeadlock(r.recv(3), 3)
	}
	if r.Rank() == 1 {
		if err := wantDeadlock(r.recv(0), 0, 1); err != nil {
			return err
		}
	}
	return wantDeadlock(r.barrier(r.group([]int{0, 1, 2}, "")), 0, 1)
}

// recoverMessage has rank 1 send the message that rank 0 has waited for when that wait has
// ended in a deadlock, though rank 0 may not have heard of it yet.
func recoverMessage(r *rank) error {
	if r.Rank() == 1 {
		if err := wantDeadlock(r.barrier(r.world), 0, 1); err != nil {
			return err
		}
		return r.world.Send(0, 0, comm.Message{}, "")
	}
	if err := wantDeadlock(r.recv(1), 0, 1); err != nil {
		return err
	}
	if err := r.recv(1); err != nil {
		return fmt.Errorf("what was sent afterwards: %w", err)
	}
	return wantDeadlock(r.barrier(r.world), 0, 1)
}
