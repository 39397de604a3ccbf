package optest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// replicatedOnly lists the operators without a rule: what they do to one
// element depends on all others, or they speak of a tensor's storage.
var replicatedOnly = set2(
	"nonzero", "masked_select", // the shape of the result is that of the values
	"bag_of", "arange", // they are told numbers, and a few of them
	"pivot_rows",                                // which rows are pivots is what all of them say
	"latest",                                    // of equal indices, whichever rank has them, the last wins
	"region_get", "region_set", "region_spread", // package shard runs them
	"lattice_view", // of plain tensors alone
)

// set2 returns the set of names.
func set2(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

// An operator of tensors has rows, or is made of others, or says that it has
// neither.
func TestEveryOperatorHasARule(t *testing.T) {
	for _, d := range ofReals() {
		ruled := d.Shard != nil || d.Compose != nil
		takesTensors := slices.ContainsFunc(d.Params, func(p op.Param) bool { return p.IsTensor() })
		if takesTensors && !ruled && !replicatedOnly[d.Name] {
			t.Errorf("%s has no Shard and no Compose", d.Name)
		}
		if ruled && replicatedOnly[d.Name] {
			t.Errorf("%s has a rule, and is listed as one that has none", d.Name)
		}
		if d.Local != nil && d.Shard == nil {
			t.Errorf("%s has Local and no rows that it runs", d.Name)
		}
	}
}

// Each row of a rule, run on the blocks of simulated ranks and joined, gives
// what the operator gives on the whole: on a line of 1 to 4 ranks, and of each
// two rows on a mesh of 2 by 2, whose dims cut in either order.
func TestTableRows(t *testing.T) {
	meshes := []*mesh.Mesh{newMesh(1), newMesh(2), newMesh(3), newMesh(4), newMesh(2, 2)}
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if d.Shard == nil {
			return 0
		}
		cases := 0
		for _, dt := range dtype.Reals {
			if dt.Limited() {
				continue // float64, in which the test adds, has no exact sums of theirs
			}
			for _, m := range meshes {
				if m.NDim() == 1 || len(ex.in) == 0 || dt == pairsIn(dt) {
					cases += rowCases(t, d, ex, dt, m)
				}
			}
		}
		return cases
	})
}

// pairsIn returns the dtype of the kind of dt in which all pairs of rows are
// tested.
func pairsIn(dt dtype.DType) dtype.DType {
	switch {
	case dt.IsFloat():
		return dtype.Float64
	case dt == dtype.Bool:
		return dtype.Bool
	}
	return dtype.Int32
}

// Rows hold for empty tensors and for those of one element, too.
func TestTableRowSizes(t *testing.T) {
	meshes := []*mesh.Mesh{newMesh(2), newMesh(3)}
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if d.Shard == nil {
			return 0
		}
		cases := 0
		for _, from := range sizesOf(ex) {
			for _, to := range []int{0, 1} {
				for _, m := range meshes {
					cases += rowCases(t, d, ex.resized(from, to), dt, m)
				}
			}
		}
		return cases
	})
}

func newMesh(sizes ...int) *mesh.Mesh { return ok(mesh.New(sizes, nil, nil)) }

// A split is a call on tensors that the ranks of a mesh hold together, along
// each dim of it as a row says.
type split struct {
	tr       *trial
	c        *op.Call // of stand-ins
	m        *mesh.Mesh
	rows     []op.Row
	order    []int // in which the dims of m cut
	from, to []*mesh.Placed
	draws    int // of the whole call
	want     []*tensor.Tensor
	size     float64 // of the inputs' elements
}

// rowCases runs ex in dt with each row for each dim of m, and returns how many
// cases there were.
func rowCases(t *testing.T, d *op.Def, ex example, dt dtype.DType, m *mesh.Mesh) int {
	t.Helper()
	tr := newTrial(d, ex, dt)
	whole, draws, err := drawing(newTrial(d, ex, dt))
	if err != nil {
		return 0
	}
	c := standIns(tr)
	if err := d.Infer(c); err != nil {
		if !c.ByValue() {
			t.Errorf("%v without elements: %v", tr, err)
		}
		return 0
	}
	rows := append([]op.Row{{In: make([]mesh.Placement, len(c.In)), Out: make([]mesh.Placement, len(c.Spec))}}, d.Shard(c)...)
	cases, at, size := 0, make([]int, m.NDim()), tr.magnitude()
	for next(at, len(rows)) {
		s := &split{tr: tr, c: c, m: m, draws: draws, want: whole.Out, size: size}
		for _, i := range at {
			s.rows = append(s.rows, rows[i])
		}
		if s.takesPart() && s.place(t) {
			s.run(t)
			cases++
		}
		for d := range at {
			s.order = append(s.order, len(at)-1-d)
		}
		if len(at) > 1 && s.takesPart() && s.place(t) && s.reordered() {
			s.run(t)
			cases++
		}
	}
	return cases
}

// reordered reports whether a tensor is cut in another order than that of the mesh.
func (s *split) reordered() bool {
	return slices.ContainsFunc(slices.Concat(s.from, s.to), func(l *mesh.Placed) bool {
		if l == nil {
			return false
		}
		_, ofMesh := l.Order()
		return !ofMesh
	})
}

// next counts at on as the digits of a number to base n; false when it is at
// its largest.
func next(at []int, n int) bool {
	for d := len(at) - 1; d >= 0; d-- {
		if at[d]++; at[d] < n {
			return true
		}
		at[d] = 0
	}
	return false
}

// drawing applies tr and counts its random draws.
func drawing(tr *trial) (c *op.Call, draws int, err error) {
	if p := caught(func() { c, err = op.Apply(countingCtx(&draws), tr.d, slices.Clone(tr.in), tr.args) }); p != nil {
		err = p
	}
	return c, draws, err
}

// countingCtx is newCtx with a count of its draws.
func countingCtx(draws *int) *op.Ctx {
	ctx := newCtx()
	draw := ctx.Draw
	ctx.Draw = func() (uint64, uint64) { *draws++; return draw() }
	return ctx
}

// standIns returns the call of tr on tensors without elements.
func standIns(tr *trial) *op.Call {
	c := &op.Call{Def: tr.d, Ctx: newCtx(), Args: tr.args}
	for _, x := range tr.in {
		if x != nil {
			x = x.ShapeOnly()
		}
		c.In = append(c.In, x)
	}
	return c
}

// takesPart reports whether a row is one that can occur: no bool is a sum, no
// integer a mean, and the target of a call in place stays as it is placed.
func (s *split) takesPart() bool {
	for _, r := range s.rows {
		for i, x := range s.c.In {
			if x != nil && i < len(r.In) && !canBe(r.In[i], x.DType()) {
				return false
			}
		}
		if s.tr.d.InPlace && r.In[0] != r.Out[0] {
			return false
		}
	}
	return true
}

// canBe reports whether a tensor of dtype dt can be placed as p says.
func canBe(p mesh.Placement, dt dtype.DType) bool {
	by, partial := p.Partial()
	switch {
	case !partial:
		return true
	case by == mesh.Mean:
		return dt.IsFloat()
	}
	return dt != dtype.Bool || by == mesh.Max || by == mesh.Min
}

// place sets s.from and s.to, and reports whether the rows fit together.
func (s *split) place(t rapid.TB) bool {
	t.Helper()
	for _, r := range s.rows {
		if len(r.In) != len(s.c.In) || len(r.Out) != len(s.c.Spec) {
			t.Fatalf("%v: got %d inputs and %d results, want %d and %d", s, len(r.In), len(r.Out), len(s.c.In), len(s.c.Spec))
		}
	}
	s.from, s.to = make([]*mesh.Placed, len(s.c.In)), make([]*mesh.Placed, len(s.c.Spec))
	for i, x := range s.c.In {
		if x != nil {
			s.from[i] = s.layout(t, x.Shape(), func(r op.Row) mesh.Placement { return r.In[i] })
		}
	}
	for i, spec := range s.c.Spec {
		s.to[i] = s.layout(t, spec.Shape, func(r op.Row) mesh.Placement {
			if !canBe(r.Out[i], spec.DType) {
				t.Errorf("%v: result %d is %v of %v", s, i, r.Out[i], spec.DType)
			}
			return r.Out[i]
		})
	}
	return s.tr.d.Aligned == nil || s.tr.d.Aligned(s.c, s.from, s.to)
}

func (s *split) layout(t rapid.TB, sizes []int, of func(op.Row) mesh.Placement) *mesh.Placed {
	t.Helper()
	var p []mesh.Placement
	for _, r := range s.rows {
		p = append(p, of(r))
	}
	l, err := mesh.Place(s.m, sizes, mesh.InOrder(s.m, p, s.order))
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return l
}

func (s *split) String() string {
	var rows []string
	for _, r := range s.rows {
		rows = append(rows, fmt.Sprintf("%v -> %v", r.In, r.Out))
	}
	return fmt.Sprintf("%v, mesh %s, %s, order %v", s.tr, s.m.Short(), strings.Join(rows, " and "), s.order)
}

// run compares the results that the ranks make of their blocks with those of
// the whole.
func (s *split) run(t rapid.TB) {
	t.Helper()
	results := make([]map[int]*tensor.Tensor, len(s.to)) // by rank
	for i := range results {
		results[i] = map[int]*tensor.Tensor{}
	}
	for _, rank := range s.m.Ranks() {
		var out []*tensor.Tensor
		err := caught(func() { out = s.onRank(t, rank) })
		if err != nil || len(out) != len(s.to) {
			t.Errorf("%v: rank %d: got %d results, want %d; error %v", s, rank, len(out), len(s.to), err)
			return
		}
		for i, y := range out {
			if want := s.to[i].LocalShape(rank); !y.Shape().Equal(want) || y.DType() != s.c.Spec[i].DType {
				t.Errorf("%v: rank %d: result %d is %v, want %v[%v]", s, rank, i, op.Describe(y), s.c.Spec[i].DType, want)
				return
			}
			results[i][rank] = y
		}
	}
	for i := range results {
		s.compare(t, i, results[i])
	}
}

// onRank runs the call on the blocks of one rank.
func (s *split) onRank(t rapid.TB, rank int) []*tensor.Tensor {
	t.Helper()
	x := make([]*tensor.Tensor, len(s.tr.in))
	before := make([][]byte, len(x))
	for i, in := range s.tr.in {
		if in != nil {
			x[i] = blockOf(in, s.from[i], rank, i)
			before[i] = slices.Clone(stored(x[i]))
		}
	}
	draws := 0
	ctx := countingCtx(&draws)
	var out []*tensor.Tensor
	var err error
	if d := s.tr.d; d.Local != nil {
		tape := &op.Tape{A: applier{ctx}}
		c := *s.c
		c.Ctx = ctx
		out, err = d.Local(&op.Blocks{Call: &c, T: tape, X: x, From: s.from, To: s.to, Rank: rank})
	} else {
		out, err = applier{ctx}.Apply(d, x, s.tr.args)
	}
	if err != nil {
		panic(err)
	}
	if draws != s.draws {
		t.Errorf("%v: rank %d: %d random draws, want %d as of the whole", s, rank, draws, s.draws)
	}
	for i := range x {
		if !bytes.Equal(before[i], stored(x[i])) && !(s.tr.d.InPlace && i == 0) && !s.tr.ex.writes[i] {
			t.Errorf("%v: rank %d: input %d was changed", s, rank, i)
		}
	}
	return out
}

// An applier applies operators and records nothing.
type applier struct{ ctx *op.Ctx }

func (a applier) Apply(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	c, err := op.Apply(a.ctx, d, in, args)
	if err != nil {
		return nil, err
	}
	return c.Out, nil
}

// compare compares result i, which the ranks hold together, with that of the
// whole: bit for bit where it is no sum.
func (s *split) compare(t rapid.TB, i int, blocks map[int]*tensor.Tensor) {
	t.Helper()
	y := s.want[i]
	j := &joiner{l: s.to[i], dt: y.DType(), blocks: map[int][]float64{}, index: make([]int, y.Ndim())}
	for rank, b := range blocks {
		j.blocks[rank] = list(b)
	}
	for at, want := range list(y) {
		unravelTo(j.index, at, y.Shape())
		got, size := j.value(nil)
		if j.err != "" {
			t.Errorf("%v: result %d at %v: %s", s, i, j.index, j.err)
			return
		}
		if class(got) != class(want) || class(want) == "finite" && math.Abs(got-want) > s.tolerance(i, want, size) {
			t.Errorf("%v: result %d at %v: got %v, want %v", s, i, j.index, got, want)
			return
		}
	}
}

// tolerance returns how far result i, the sum of terms of the given magnitude,
// may be from want.
func (s *split) tolerance(i int, want, size float64) float64 {
	dt := s.want[i].DType()
	if !dt.IsFloat() {
		return 0
	}
	compute, partial := roundoff(dt.Compute()), false
	for k, x := range s.tr.in {
		if x != nil && x.DType().IsFloat() {
			compute = max(compute, roundoff(x.DType().Compute()))
		}
		partial = partial || s.from[k] != nil && s.from[k].IsPartial()
	}
	if !partial && !s.to[i].IsPartial() {
		return 0
	}
	tol := 64 * compute * (size + s.size)
	if dt.IsHalf() {
		tol += 4 * (roundoff(dt)*(size+s.size) + tiny(dt)) // the terms of inputs are rounded, too
	}
	return tol
}
