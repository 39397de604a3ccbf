package runtime

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"tpsh/comm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func TestParallelRanks(t *testing.T) {
	two := parallel{data: 2, pipeline: 2, tensor: 2}
	for _, c := range []struct {
		p    parallel
		m    Mode
		want string // the groups of all ranks
	}{
		{two, GlobalMode, "[[0 1 2 3 4 5 6 7]]"},
		{two, DataMode, "[[0 4] [1 5] [2 6] [3 7]]"},
		{two, PipelineMode, "[[0 2] [1 3] [4 6] [5 7]]"},
		{two, TensorMode, "[[0 1] [2 3] [4 5] [6 7]]"},
		{two, ModelMode, "[[0 1 2 3] [4 5 6 7]]"},
		{parallel{1, 3, 2}, PipelineMode, "[[0 2 4] [1 3 5]]"},
		{parallel{1, 3, 2}, TensorMode, "[[0 1] [2 3] [4 5]]"},
		{parallel{3, 1, 1}, DataMode, "[[0 1 2]]"},
		{parallel{1, 1, 1}, ModelMode, "[[0]]"},
	} {
		var groups [][]int
		for rank := range c.p.data * c.p.pipeline * c.p.tensor {
			g := c.p.ranks(c.m, rank)
			if !slices.Contains(g, rank) {
				t.Errorf("%+v: group %s of rank %d is %v, without it", c.p, c.m, rank, g)
			}
			if !slices.ContainsFunc(groups, func(h []int) bool { return slices.Equal(g, h) }) {
				groups = append(groups, g)
			}
		}
		if got := fmt.Sprint(groups); got != c.want {
			t.Errorf("%+v: groups %s are %s, want %s", c.p, c.m, got, c.want)
		}
	}
}

// A transfer whose peer has died fails in its own name, and what neighbours
// exchange needs no order.
func TestTransfer(t *testing.T) {
	for _, transport := range Transports {
		errs := onRanks(t, transport, 3, func(r *Rank) error {
			if err := r.InitParallel(3, 1, 0); err != nil {
				return err
			}
			s, err := r.Stage("test")
			if err != nil {
				return err
			}
			want := &Expected{Param: "shape", Shapes: []shape.Shape{{2}}, DTypes: []dtype.DType{dtype.Float32}}
			me := floats(r, shape.Shape{2}, func(int) float32 { return float32(r.ID()) })
			around := &Transfer{Func: "around", Prev: s.Prev, Next: s.Next, ToNext: []*tensor.Tensor{me}, ToPrev: []*tensor.Tensor{me}, FromPrev: want, FromNext: want}
			prev, next, err := r.Transfer(around)
			if err != nil {
				return err
			}
			if got := [2]float32{values(prev[0])[0], values(next[0])[0]}; got != [2]float32{float32(s.Prev), float32(s.Next)} {
				return fmt.Errorf("got %v from %d and %d", got, s.Prev, s.Next)
			}
			if err := r.Barrier(r.World()); err != nil { // all have received: nobody is around any more
				return err
			}
			if s.Last() {
				return errors.New("died")
			}
			_, _, err = r.Transfer(&Transfer{Func: "await", Next: 2, FromNext: want})
			return err
		})
		for rank, err := range errs[:2] {
			var p *comm.PeerError
			if !errors.As(err, &p) || p.Func != "await" || p.Rank != 2 || p.Cause.Error() != "died" {
				t.Errorf("%s: rank %d: got error %v, want the failure of rank 2 in await", transport, rank, err)
			}
		}
	}
}
