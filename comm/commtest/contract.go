package commtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tpsh/comm"
)

// A change makes a member's call differ in one field.
type change struct {
	name    string // of the field
	differs string // how the report names it
	change  func(d *comm.Desc)
}

// changes returns the fields in which calls of a kind can differ.
func changes(k comm.Kind) []change {
	list := []change{{"function", "", func(d *comm.Desc) { d.Op = "other" }}}
	add := func(name, differs string, f func(d *comm.Desc)) { list = append(list, change{name, differs, f}) }
	if k == comm.Barrier {
		return list
	}
	add("dtype", "dtype", func(d *comm.Desc) { d.DType = "int32" })
	add("shape", "shape", func(d *comm.Desc) { d.Shape = []int{5, 3} })
	add("ndim", "shape", func(d *comm.Desc) { d.Shape = []int{4, 2, 1} })
	add("placements", "placements", func(d *comm.Desc) { d.Detail = "[S(0)] to [R]" })
	add("pass", "", func(d *comm.Desc) { d.Detail = comm.InBackward })
	add("no tensor", "", func(d *comm.Desc) { d.DType, d.Shape, d.Free = "", nil, -1 })
	if k.Rooted() {
		add("root", k.RootName(), func(d *comm.Desc) { d.Root = 1 })
	}
	if k.Reduces() {
		add("reduction", "op", func(d *comm.Desc) { d.Reduce = "max" })
	}
	switch k {
	case comm.AllGather, comm.Gather:
		add("dim", "dim", func(d *comm.Desc) { d.Dims[0], d.Free = 1, 1 })
	case comm.Scatter, comm.ReduceScatter:
		add("dim", "dim", func(d *comm.Desc) { d.Dims[0] = 1 })
	case comm.AllToAll:
		add("split_dim", "split_dim", func(d *comm.Desc) { d.Dims[0] = 1 })
		add("concat_dim", "concat_dim", func(d *comm.Desc) { d.Dims[1], d.Free = 0, 0 })
	}
	if k.Paired() {
		add("pairs", "pairs", func(d *comm.Desc) { d.Pairs = [][2]int{{0, 1}, {1, 2}} })
		add("order of pairs", "pairs", func(d *comm.Desc) { d.Pairs = [][2]int{{1, 0}, {0, 1}} })
	}
	return list
}

// fullDesc returns a description of a kind that uses every field it has.
func fullDesc(k comm.Kind) comm.Desc {
	d := desc(k.String())
	if k == comm.Barrier {
		return d
	}
	d.DType, d.Shape = "float32", []int{4, 2}
	if k.Rooted() {
		d.Root = 0
	}
	if k.Reduces() {
		d.Reduce = "sum"
	}
	switch k {
	case comm.AllGather, comm.Gather:
		d.Dims[0], d.Free = 0, 0
	case comm.Scatter, comm.ReduceScatter:
		d.Dims[0] = 0
	case comm.AllToAll:
		d.Dims, d.Free = [2]int{0, 1}, 1
	}
	if k.Paired() {
		d.Pairs = [][2]int{{0, 1}, {1, 0}}
	}
	return d
}

// testContract varies one field of one member's call at a time.
func testContract(t *testing.T, open Opener) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) { contractKind(t, open, k) })
	}
	t.Run("call number", func(t *testing.T) { contractNumber(t, open) })
	t.Run("free sizes", func(t *testing.T) { contractFree(t, open) })
	t.Run("text", func(t *testing.T) { contractText(t, open) })
}

// A contractCase is a call of a kind that differs on rank 1 of 3 by a change.
type contractCase struct {
	change
	kind  comm.Kind
	async bool      // whether it is issued, and waited for later
	texts [3]string // by rank: what it is told
}

// contractCases returns the calls of a kind that differ. Tests that are to be short
// vary half of the fields in calls that are waited for, and the others in calls that are not.
func contractCases(k comm.Kind) (cases []*contractCase) {
	for i, c := range changes(k) {
		for _, async := range []bool{false, true} {
			if !testing.Short() || async == (i%2 == 1) {
				cases = append(cases, &contractCase{change: c, kind: k, async: async})
			}
		}
	}
	return cases
}

func (c *contractCase) String() string { return fmt.Sprintf("%s, async=%v", c.name, c.async) }

// contractKind has ranks make calls that differ, one after the other, and go on after each.
func contractKind(t *testing.T, open Opener, k comm.Kind) {
	cases := contractCases(k)
	succeed(t, runRanks(t, open, 3, func(r *rank) error {
		for _, c := range cases {
			if err := r.barrier(r.world); err != nil {
				return fmt.Errorf("before %v: %w", c, err)
			}
			if err := c.run(r); err != nil {
				return fmt.Errorf("%v: %w", c, err)
			}
		}
		return r.barrier(r.world)
	}))
	for _, c := range cases {
		if c.texts[1] != c.texts[0] || c.texts[2] != c.texts[0] {
			t.Errorf("%v: the reports differ: %q", c, c.texts)
		}
		if text := c.texts[0]; strings.Count(text, "line of") != 2 || !strings.Contains(text, "ranks 0,2: "+k.String()) {
			t.Errorf("%v: got %q, want the lines of ranks 0,2 and of rank 1", c, text)
		}
	}
}

// run makes the rank's call.
func (c *contractCase) run(r *rank) error {
	op, _ := newTrial(c.kind, 3, 0, lengths["even"], false).op(r.Rank())
	op.Desc = fullDesc(c.kind)
	if r.Rank() == 1 {
		c.change.change(&op.Desc)
		op.In = inFor(&op.Desc, op)
	}
	err := r.call(r.world, op, c.async)
	var bad *comm.MismatchError
	if !errors.As(err, &bad) {
		return fmt.Errorf("got %v, want a mismatch", err)
	}
	c.texts[r.Rank()] = err.Error()
	if bad.Differs != c.differs || !slices.Equal(bad.Ranks(), []int{0, 1, 2}) || bad.Kind() != "mismatch" {
		return fmt.Errorf("got %+v, want a difference in %q", bad, c.differs)
	}
	return nil
}

// inFor returns the blocks that rank 1 offers in a call with its description.
func inFor(d *comm.Desc, op *comm.Op) []comm.Block {
	if d.Root == 1 && op.In == nil {
		return slices.Repeat([]comm.Block{comm.Whole(make([]byte, 24))}, 3)
	}
	return op.In
}

// call carries out a collective, whose line is the same on all ranks but 1.
func (r *rank) call(g *comm.Group, op *comm.Op, async bool) error {
	op.Where = line(map[bool]string{true: "line of 1", false: "line of the others"}[r.Rank() == 1])
	var err error
	if async {
		_, err = g.Issue(op).Wait(r.ctx)
	} else {
		_, err = g.Run(r.ctx, op)
	}
	return err
}

// contractNumber has one rank call something twice that the others call once:
// they are reported, and remain, in step.
func contractNumber(t *testing.T, open Opener) {
	succeed(t, runRanks(t, open, 3, func(r *rank) error {
		calls := []comm.Kind{comm.AllReduce, comm.Barrier, comm.Barrier}
		if r.Rank() == 2 {
			calls = []comm.Kind{comm.AllReduce, comm.AllReduce, comm.Barrier}
		}
		for i, k := range calls {
			op, _ := newTrial(k, 3, 0, lengths["one"], false).op(r.Rank())
			_, err := r.world.Run(r.ctx, op)
			if bad := (*comm.MismatchError)(nil); errors.As(err, &bad) != (i == 1) {
				return fmt.Errorf("call %d: got %v", i, err)
			}
		}
		if got := r.world.Calls(); got != 3 {
			return fmt.Errorf("got %d calls, want 3", got)
		}
		return nil
	}))
}

// contractFree has members differ in the size that they may differ in, and in
// flags.
func contractFree(t *testing.T, open Opener) {
	succeed(t, runRanks(t, open, 3, func(r *rank) error {
		op, _ := newTrial(comm.AllGather, 3, 0, lengths["uneven"], false).op(r.Rank())
		op.Desc = fullDesc(comm.AllGather)
		op.Desc.Shape = []int{r.Rank(), 2}
		op.Desc.Flags = comm.Flags(r.Rank())
		_, err := r.world.Run(r.ctx, op)
		return err
	}))
}

// contractText pins the words of a report.
func contractText(t *testing.T, open Opener) {
	for _, test := range []struct {
		ranks []int
		want  string
	}{
		{[]int{0, 1, 2, 3}, `all_reduce: ranks do not call the same: ` +
			`rank 0: all_reduce(float32[4, 2], op="sum") at a.star:9:3, ` +
			`ranks 1-3: all_gather(float32[4, 2], dim=0) at a.star:12:1`},
		{[]int{3, 1, 0}, `all_reduce: ranks do not call the same in group [3, 1, 0]: ` +
			`rank 0: all_reduce(float32[4, 2], op="sum") at a.star:9:3, ` +
			`ranks 1,3: all_gather(float32[4, 2], dim=0) at a.star:12:1`},
	} {
		for i, err := range runRanks(t, open, 4, func(r *rank) error {
			g := r.group(test.ranks, "")
			if g.Rank() < 0 {
				return nil
			}
			k, where := comm.AllGather, "a.star:12:1"
			if r.Rank() == 0 {
				k, where = comm.AllReduce, "a.star:9:3"
			}
			op, _ := newTrial(k, g.Size(), 0, lengths["even"], false).op(g.Rank())
			op.Desc = fullDesc(k)
			op.Where = line(where)
			_, err := g.Run(r.ctx, op)
			return err
		}) {
			if slices.Contains(test.ranks, i) && (err == nil || err.Error() != test.want) {
				t.Errorf("rank %d: got  %v\nwant %s", i, err, test.want)
			}
		}
	}
}
