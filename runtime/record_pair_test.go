package runtime

import (
	"fmt"
	"slices"
	"testing"

	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The gradient of what RecordPair records is what its second action makes of the
// result's, and the gradient of that is the first action again.
func TestRecordPair(t *testing.T) {
	everywhere(t, func(r *Rank) error {
		n := float32(r.Size())
		sum := func(x *tensor.Tensor) (*tensor.Tensor, error) {
			return r.Run(r.World(), Collective{Op: "all_reduce", Reduce: "sum"}, x)
		}
		copied := func(x *tensor.Tensor) (*tensor.Tensor, error) { return r.Do("clone", []*tensor.Tensor{x}) }
		for _, test := range []struct {
			name     string
			do, back Action
			y, dx    float32 // where x and dy are 1
		}{
			{"sum forward", sum, copied, n, 1},
			{"sum backward", copied, sum, 1, n},
		} {
			one := func(int) float32 { return 1 }
			x := floats(r, shape.Shape{2}, one)
			x.Auto = &tensor.Auto{Requires: true}
			y, err := r.RecordPair(test.name, x, test.do, test.back)
			if err != nil {
				return err
			}
			dy := floats(r, shape.Shape{2}, one)
			dy.Auto = &tensor.Auto{Requires: true}
			if err := r.Tape.Backward(y, dy, true); err != nil {
				return err
			}
			dx := x.Auto.Grad
			if want := []float32{test.y, test.y}; !slices.Equal(values(y), want) {
				return fmt.Errorf("%s: got %v, want %v", test.name, values(y), want)
			}
			if want := []float32{test.dx, test.dx}; !slices.Equal(values(dx), want) {
				return fmt.Errorf("%s: got the gradient %v, want %v", test.name, values(dx), want)
			}
			again, err := r.Tape.Grad([]*tensor.Tensor{total(r, dx)}, []*tensor.Tensor{dy}, false)
			if err != nil {
				return err
			}
			if want := []float32{test.y, test.y}; !slices.Equal(values(again[0]), want) {
				return fmt.Errorf("%s: got the gradient's gradient %v, want %v", test.name, values(again[0]), want)
			}
		}
		return nil
	})
}

// total returns the sum of the elements of x.
func total(r *Rank, x *tensor.Tensor) *tensor.Tensor {
	t := op.Tape{A: r}
	return t.Do("sum", []*tensor.Tensor{x}, op.None, op.Bool1(false))
}

// A call whose action fails records nothing, and recording goes on.
func TestRecordPairFails(t *testing.T) {
	everywhere(t, func(r *Rank) error {
		broken := func(*tensor.Tensor) (*tensor.Tensor, error) { return nil, fmt.Errorf("broken") }
		x := floats(r, shape.Shape{1}, func(int) float32 { return 1 })
		if _, err := r.RecordPair("broken", x, broken, broken); err == nil || err.Error() != "broken" {
			return fmt.Errorf("got the error %v, want broken", err)
		}
		if !r.Tape.Enabled() {
			return fmt.Errorf("recording is off")
		}
		return nil
	})
}
