package commtest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tpsh/comm"
)

// testGroups runs groups with their members in odd orders beside each other,
// and groups that differ in their instance alone.
func testGroups(t *testing.T, open Opener) {
	groups := []struct {
		ranks    []int
		instance string
		name     string
	}{
		{[]int{0, 1, 2, 3, 4}, "", "world"},
		{[]int{4, 2, 0}, "", "group [4, 2, 0]"},
		{[]int{0, 2, 4}, "", "group [0, 2, 4]"},
		{[]int{0, 2, 4}, "1", `group [0, 2, 4] "1"`},
		{[]int{3, 1}, "", "group [3, 1]"},
		{[]int{4, 3, 2, 1, 0}, "", "group [4, 3, 2, 1, 0]"},
		{[]int{2}, "", "group [2]"},
	}
	succeed(t, runRanks(t, open, 5, func(r *rank) error {
		for round := range uint64(3) {
			for _, want := range groups {
				g := r.group(want.ranks, want.instance)
				if g.String() != want.name || g.Rank() != slices.Index(want.ranks, r.Rank()) ||
					g.Size() != len(want.ranks) || !slices.Equal(g.Ranks(), want.ranks) {
					return fmt.Errorf("got %v of %v, rank %d of %d, want %v", g, g.Ranks(), g.Rank(), g.Size(), want)
				}
				if g.Rank() < 0 {
					continue
				}
				for _, k := range kinds {
					if err := newTrial(k, g.Size(), g.Size()-1, lengths["uneven"], false).run(r, g); err != nil {
						return fmt.Errorf("%s in %v: %w", k.String(), g, err)
					}
				}
				if got, want := g.Calls(), (round+1)*uint64(len(kinds)); got != want {
					return fmt.Errorf("%v: got %d calls, want %d", g, got, want)
				}
			}
		}
		return nil
	}))
}

// testArguments checks the errors of calls that make no sense.
func testArguments(t *testing.T, open Opener) {
	succeed(t, runRanks(t, open, 2, func(r *rank) error {
		for _, ranks := range [][]int{{}, {0, 2}, {-1}, {1, 0, 1}} {
			if _, err := r.Group(ranks, ""); !isArgument(err) {
				return fmt.Errorf("group of %v: got %v, want an error", ranks, err)
			}
		}
		if r.Rank() == 1 {
			return nil
		}
		other := r.group([]int{1}, "")
		_, run := other.Run(r.ctx, barrier())
		_, issue := other.Issue(barrier()).Wait(r.ctx)
		_, recv := other.Recv(r.ctx, 0, 0, nil)
		_, from := r.world.Recv(r.ctx, 2, 0, nil)
		for i, err := range []error{
			run, issue, recv, from,
			other.Send(0, 0, comm.Message{}, ""),
			r.world.Send(-1, 0, comm.Message{}, ""),
		} {
			if !isArgument(err) {
				return fmt.Errorf("call %d: got %v, want an error of its arguments", i, err)
			}
		}
		return nil
	}))
}

func isArgument(err error) bool {
	var bad *comm.ArgError
	return errors.As(err, &bad)
}

// testJoin checks that a collective ends nowhere before every member has
// called it, though the data alone would allow it.
func testJoin(t *testing.T, open Opener) {
	const late = 2
	called := make([]atomic.Bool, len(kinds))
	succeed(t, runRanks(t, open, 3, func(r *rank) error {
		for i, k := range kinds {
			if r.Rank() == late {
				time.Sleep(2 * time.Millisecond)
				called[i].Store(true)
			}
			if err := newTrial(k, 3, 0, lengths["one"], false).run(r, r.world); err != nil {
				return err
			}
			if !called[i].Load() {
				return fmt.Errorf("%s ended before rank %d had called it", k.String(), late)
			}
		}
		return nil
	}))
}
