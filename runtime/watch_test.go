package runtime

import (
	"fmt"
	"testing"

	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A watch has each operation of a program, with the views and the seconds before it, and
// nothing while it is off.
func TestWatch(t *testing.T) {
	for _, err := range onRanks(t, "inproc", 1, func(r *Rank) error {
		w := r.Watch()
		x := floats(r, shape.Shape{4, 8}, func(i int) float32 { return float32(i) })
		program := func() error {
			y, err := r.Do("reshape", []*tensor.Tensor{x}, op.IntsN(8, 4))
			if err != nil {
				return err
			}
			for _, name := range []string{"exp", "neg"} {
				if y, err = r.Do(name, []*tensor.Tensor{y}); err != nil {
					return err
				}
			}
			return nil
		}
		if err := program(); err != nil {
			return err
		}
		if all := w.Take(); len(all) != 0 {
			return fmt.Errorf("got %d operations while it is off, want none", len(all))
		}
		w.On = true
		if err := program(); err != nil {
			return err
		}
		all := w.Take()
		if len(all) != 2 || all[0].Operation.Name != "exp" || all[1].Operation.Name != "neg" {
			return fmt.Errorf("got %+v, want exp and neg", all)
		}
		for i, views := range []float64{1, 0} {
			o := all[i]
			if o.Hosting.Views != views || !o.Hosting.Operation || !o.Hosting.Recorded || o.Hosting.Placed || o.Host <= 0 || o.Ran <= 0 {
				return fmt.Errorf("operation %d: got %+v, want %v views and some seconds", i, o, views)
			}
		}
		if got, want := all[1].Hosting.Touched, all[0].Operation.Bytes; got != want {
			return fmt.Errorf("got %v bytes touched before neg, want %v", got, want)
		}
		return nil
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}
