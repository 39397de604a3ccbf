package commtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/comm"
)

// testCaught runs programs in which a rank fails in the middle of a task, and goes
// on with the next. Those that wait for it there are told of it there, and leave
// the task as well; nobody hears of it anywhere else. Ranks that have done a program as they
// should do others.
func testCaught(t *testing.T, open Opener) {
	fabrics := map[int]*comm.Fabric{} // by size
	leave := func(size int) {
		succeed(t, runOn(t, fabrics[size], func(*rank) error { return nil }))
		fabrics[size].Close()
		delete(fabrics, size)
	}
	rapid.Check(t, func(draw *rapid.T) {
		size := rapid.IntRange(2, 4).Draw(draw, "size")
		tasks := rapid.SliceOfN(rapid.Custom(func(draw *rapid.T) task { return drawTask(draw, size) }), 1, 3).Draw(draw, "tasks")
		if fabrics[size] == nil {
			fabrics[size] = open(size)
		}
		for i, err := range goOn(t, fabrics[size], func(r *rank) error { return r.doTasks(tasks) }) {
			if err != nil {
				leave(size)
				draw.Fatalf("%+v on %d ranks: rank %d: %v", tasks, size, i, err)
			}
		}
	})
	for size := range fabrics {
		leave(size)
	}
}

// A task is a list of calls, each on a group of some ranks. Before and after one
// that fails all ranks meet: a rank that has not met one that failed cannot tell
// a call that this one has left out from one that it has yet to come to.
type task struct {
	groups [][]int
	fails  int // the rank that fails, negative for none
	at     int // before which call
}

func drawTask(draw *rapid.T, size int) task {
	groups := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 2, size, rapid.ID[int]), 1, 4).Draw(draw, "groups")
	return task{groups, rapid.IntRange(-size, size-1).Draw(draw, "fails"), rapid.IntRange(0, len(groups)-1).Draw(draw, "at")}
}

// told returns the call at which a rank is told of the failure of a task, or -1.
func (k *task) told(rank int) int {
	var left []int
	for i, group := range k.groups {
		if i == k.at && k.fails >= 0 {
			left = append(left, k.fails)
		}
		if !slices.ContainsFunc(group, func(r int) bool { return slices.Contains(left, r) }) {
			continue
		}
		if slices.Contains(group, rank) && !slices.Contains(left, rank) {
			return i
		}
		left = append(left, group...)
	}
	return -1
}

// doTasks does the rank's part of all tasks.
func (r *rank) doTasks(tasks []task) error {
	for i, task := range tasks {
		if task.fails >= 0 {
			if err := r.barrier(r.world); err != nil {
				return fmt.Errorf("before task %d: %w", i, err)
			}
		}
		if err := r.doTask(&task, 4*i); err != nil {
			return fmt.Errorf("task %d: %w", i, err)
		}
		if task.fails >= 0 {
			if err := r.barrier(r.world); err != nil {
				return fmt.Errorf("after task %d: %w", i, err)
			}
		}
	}
	return nil
}

// doTask does the rank's part of a task, each of whose calls is like no other.
func (r *rank) doTask(k *task, number int) error {
	for i, group := range k.groups {
		if r.Rank() == k.fails && i == k.at {
			r.NoteCaught("no")
			return nil
		}
		g := r.group(group, "")
		if !g.Holds() {
			continue
		}
		op, _ := allReduce(floats(make([]float32, number+i)...))
		_, err := g.Run(r.ctx, op)
		var mismatch *comm.MismatchError
		var dead *comm.DeadlockError
		switch told := errors.As(err, &dead) || errors.As(err, &mismatch); {
		case told && k.told(r.Rank()) == i:
			return nil
		case err != nil:
			return fmt.Errorf("call %d: %w", i, err)
		case k.told(r.Rank()) == i:
			return fmt.Errorf("call %d: got no error, want to hear of rank %d", i, k.fails)
		}
	}
	return nil
}
