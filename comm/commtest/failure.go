package commtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tpsh/comm"
)

var errBoom = errors.New("boom")

// wantPeer returns nil if err says that function failed because rank did, of
// errBoom.
func wantPeer(err error, function string, rank int) error {
	var peer *comm.PeerError
	if !errors.As(err, &peer) || peer.Rank != rank || peer.Kind() != "peer" {
		return fmt.Errorf("got %v, want a failure of rank %d", err, rank)
	}
	if want := fmt.Sprintf("%s: rank %d failed: boom", function, rank); err.Error() != want {
		return fmt.Errorf("got %v, want %s", err, want)
	}
	if peer.Unwrap().Error() != errBoom.Error() {
		return fmt.Errorf("got cause %v, want %v", peer.Unwrap(), errBoom)
	}
	return nil
}

// testFailure checks how the failure of a rank ends calls of the others.
func testFailure(t *testing.T, open Opener) {
	t.Run("before its call", func(t *testing.T) { failBefore(t, open) })
	t.Run("after its call", func(t *testing.T) { failAfter(t, open) })
	t.Run("while others wait for others", func(t *testing.T) { failWhile(t, open) })
	t.Run("the first cause is told", func(t *testing.T) { failInTurn(t, open) })
	t.Run("other groups go on", func(t *testing.T) { failElsewhere(t, open) })
	t.Run("its messages are received", func(t *testing.T) { failMessages(t, open) })
	t.Run("sending", func(t *testing.T) { failSend(t, open) })
}

// survive runs f on the ranks but the last, and die on the last, which then
// fails of errBoom.
func survive(t *testing.T, open Opener, size int, die func(r *rank), f func(r *rank) error) {
	t.Helper()
	errs := runRanks(t, open, size, func(r *rank) error {
		if r.Rank() == size-1 {
			die(r)
			return errBoom
		}
		return f(r)
	})
	succeed(t, errs[:size-1])
}

// failBefore has a rank fail in the place of its n-th call.
func failBefore(t *testing.T, open Opener) {
	for _, k := range kinds {
		for _, async := range []bool{false, true} {
			survive(t, open, 3, func(r *rank) {
				r.check(r.barrier(r.world))
			}, func(r *rank) error {
				if err := r.barrier(r.world); err != nil {
					return err
				}
				for range 3 {
					op, _ := newTrial(k, 3, 0, lengths["even"], false).op(r.Rank())
					if err := wantPeer(r.call(r.world, op, async), k.String(), 2); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
}

// check fails the test if err is not nil.
func (r *rank) check(err error) {
	if err != nil {
		r.t.Errorf("rank %d: %v", r.Rank(), err)
	}
}

// failAfter has a rank fail after it has issued a call, which the others
// complete, though they call late.
func failAfter(t *testing.T, open Opener) {
	for _, k := range kinds {
		for name, length := range lengths {
			tr := newTrial(k, 3, 2, length, false)
			survive(t, open, 3, func(r *rank) {
				op, _ := tr.op(r.Rank())
				r.world.Issue(op)
			}, func(r *rank) error {
				if r.Rank() == 1 {
					time.Sleep(100 * time.Microsecond)
				}
				if err := tr.run(r, r.world); err != nil {
					return fmt.Errorf("%s, %s: %w", k.String(), name, err)
				}
				return wantPeer(r.barrier(r.world), "barrier", 2)
			})
		}
	}
}

// failWhile has ranks wait in the world for others than the one that fails.
func failWhile(t *testing.T, open Opener) {
	waiting := make(chan struct{})
	survive(t, open, 4, func(r *rank) {
		<-waiting
		time.Sleep(time.Millisecond)
	}, func(r *rank) error {
		if r.Rank() == 2 { // ranks 0 and 1 wait for it, and it for nobody
			close(waiting)
			for r.world.Send(3, 0, comm.Message{}, "") == nil {
				time.Sleep(100 * time.Microsecond)
			}
			return nil
		}
		return wantPeer(r.recv(2), "recv", 3)
	})
}

// failInTurn has rank 1 fail of the failure of rank 2: rank 0, which comes
// last, hears of rank 2.
func failInTurn(t *testing.T, open Opener) {
	for range 20 {
		errs := runRanks(t, open, 3, func(r *rank) error {
			switch r.Rank() {
			case 0:
				if err := r.barrier(r.group([]int{0, 1}, "")); err == nil {
					return errors.New("the barrier with rank 1 succeeds")
				}
				return wantPeer(r.barrier(r.world), "barrier", 2)
			case 1:
				return r.barrier(r.world)
			}
			return errBoom
		})
		if errs[0] != nil {
			t.Error(errs[0])
		}
		if err := wantPeer(errs[1], "barrier", 2); err != nil {
			t.Error(err)
		}
	}
}

// failElsewhere has groups work without the failed rank.
func failElsewhere(t *testing.T, open Opener) {
	survive(t, open, 3, func(r *rank) {}, func(r *rank) error {
		if err := wantPeer(r.barrier(r.world), "barrier", 2); err != nil {
			return err
		}
		pair := r.group([]int{1, 0}, "")
		for _, k := range kinds {
			if err := newTrial(k, 2, 1, lengths["uneven"], false).run(r, pair); err != nil {
				return err
			}
		}
		if err := pair.Send(1-pair.Rank(), 0, comm.Message{}, ""); err != nil {
			return err
		}
		_, err := pair.Recv(r.ctx, 1-pair.Rank(), 0, nil)
		return err
	})
}

// failMessages has a rank send before it fails.
func failMessages(t *testing.T, open Opener) {
	survive(t, open, 3, func(r *rank) {
		for dst := range 2 {
			for i := range 10 {
				r.check(r.world.Send(dst, 0, comm.Message{Data: []byte{byte(i)}}, ""))
			}
		}
	}, func(r *rank) error {
		for i := range 10 {
			if m, err := r.world.Recv(r.ctx, 2, 0, nil); err != nil || m.Data[0] != byte(i) {
				return fmt.Errorf("got %v and %v, want %d", m, err, i)
			}
		}
		for range 2 {
			if err := wantPeer(r.recv(2), "recv", 2); err != nil {
				return err
			}
		}
		return wantPeer(r.recv(1-r.Rank()), "recv", 2)
	})
}

// failSend checks when sending fails.
func failSend(t *testing.T, open Opener) {
	survive(t, open, 3, func(r *rank) {}, func(r *rank) error {
		if err := r.world.Send(r.Rank(), 0, comm.Message{}, ""); err != nil {
			return fmt.Errorf("before it has heard of the failure: %w", err)
		}
		if err := wantPeer(r.barrier(r.world), "barrier", 2); err != nil {
			return err
		}
		if _, err := r.world.Recv(r.ctx, r.Rank(), 0, nil); err != nil {
			return fmt.Errorf("what was sent before: %w", err)
		}
		for dst := range 3 {
			if err := wantPeer(r.world.Send(dst, 0, comm.Message{}, ""), "send", 2); err != nil {
				return err
			}
		}
		return nil
	})
}

var errStop = errors.New("stop")

// testCancel checks that a context ends every wait, and that the others can
// complete the call that the waiter has left.
func testCancel(t *testing.T, open Opener) {
	for name, wait := range map[string]func(ctx context.Context, r *rank) error{
		"recv": func(ctx context.Context, r *rank) error {
			_, err := r.world.Recv(ctx, 1, 0, nil)
			return err
		},
		"run": func(ctx context.Context, r *rank) error {
			op, _ := newTrial(comm.AllReduce, 3, 0, lengths["large"], false).op(r.Rank())
			_, err := r.world.Run(ctx, op)
			return err
		},
		"work": func(ctx context.Context, r *rank) error {
			op, _ := newTrial(comm.AllReduce, 3, 0, lengths["large"], false).op(r.Rank())
			_, err := r.world.Issue(op).Wait(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			stopped := make(chan struct{})
			succeed(t, runRanks(t, open, 3, func(r *rank) error {
				if r.Rank() == 0 {
					defer close(stopped)
					return cancelled(r, wait)
				}
				<-stopped
				if name != "recv" {
					if err := newTrial(comm.AllReduce, 3, 0, lengths["large"], false).run(r, r.world); err != nil {
						return err
					}
				}
				return r.barrier(r.group([]int{1, 2}, ""))
			}))
		})
	}
}

// cancelled calls wait with a context that ends before and while it waits.
func cancelled(r *rank, wait func(ctx context.Context, r *rank) error) error {
	ctx, cancel := context.WithCancelCause(r.ctx)
	time.AfterFunc(2*time.Millisecond, func() { cancel(errStop) })
	if err := wait(ctx, r); err != errStop {
		return fmt.Errorf("got %v, want the cause of the context", err)
	}
	if _, err := r.world.Recv(ctx, 1, 0, nil); err != errStop {
		return fmt.Errorf("with a context that has ended: got %v, want its cause", err)
	}
	return nil
}

// testNotice checks the line on a wait that lasts.
func testNotice(t *testing.T, open Opener) {
	fabric := open(3)
	defer fabric.Close()
	lines := make(chan string, 10)
	fabric.Notice(5*time.Millisecond, func(line string) { lines <- line })
	noticed := make(chan struct{})
	succeed(t, runOn(t, fabric, func(r *rank) error {
		if r.Rank() == 2 {
			defer close(noticed)
			var got []string
			for range 2 {
				select {
				case line := <-lines:
					got = append(got, line)
				case <-r.ctx.Done():
					return context.Cause(r.ctx)
				}
			}
			time.Sleep(20 * time.Millisecond)
			if len(lines) > 0 {
				return fmt.Errorf("got one more line: %s", <-lines)
			}
			text := strings.Join(got, "\n")
			for _, want := range []string{
				"rank 0 has waited 5ms in barrier() at line of 0 for rank",
				"rank 1 has waited 5ms in recv(src=2, tag=0) at recv of 1 for rank 2",
			} {
				if !strings.Contains(text, want) {
					return fmt.Errorf("got %q, want %q", text, want)
				}
			}
			if err := r.world.Send(1, 0, comm.Message{}, ""); err != nil {
				return err
			}
			return r.barrier(r.world)
		}
		if r.Rank() == 1 {
			if err := r.recv(2); err != nil {
				return err
			}
		}
		return r.barrier(r.world)
	}))
}
