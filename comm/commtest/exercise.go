package commtest

import (
	"fmt"
	"testing"

	"tpsh/comm"
)

// Exercise has all ranks of a fabric of two or more communicate in every way,
// so many times, and checks all results. It returns the error with which
// each rank has ended; a rank ends with its first error. Of a fabric that other
// processes have a part in it runs the ranks of this one.
func Exercise(t testing.TB, fabric *comm.Fabric, rounds int) []error {
	var trials []*trial
	for _, k := range kinds {
		for _, name := range []string{"uneven", "large"} {
			trials = append(trials, newTrial(k, fabric.Size(), 1, lengths[name], false))
		}
	}
	return runOn(t, fabric, func(r *rank) error {
		for range rounds {
			if err := r.exercise(trials); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *rank) exercise(trials []*trial) error {
	for _, g := range []*comm.Group{r.world, r.group(reversed(r.size), "")} {
		for _, tr := range trials {
			if err := tr.run(r, g); err != nil {
				return err
			}
		}
	}
	return r.exerciseMessages()
}

// exerciseMessages sends to everyone while an asynchronous call is under way.
func (r *rank) exerciseMessages() error {
	work := r.world.Issue(barrier())
	for dst := range r.size {
		if err := r.world.Send(dst, 3, comm.Message{Data: []byte{byte(r.Rank())}}, ""); err != nil {
			return err
		}
	}
	for src := range r.size {
		if m, err := r.world.Recv(r.ctx, src, 3, nil); err != nil {
			return err
		} else if m.Data[0] != byte(src) {
			return fmt.Errorf("got the message of rank %d, want that of %d", m.Data[0], src)
		}
	}
	_, err := work.Wait(r.ctx)
	return err
}
