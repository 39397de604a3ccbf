package op

import (
	"strconv"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A Rule says how an operator runs on tensors that ranks hold together. It
// speaks of one dim of a mesh and lists rows: with inputs placed as a row says,
// every rank runs the operator on its blocks, and its results are blocks of the
// results, placed as the row says. Package shard takes a row for each dim of the
// mesh and brings the inputs there at the least cost.
//
// c holds tensors without elements, of the shapes of the whole, and c.Spec the
// whole results. All inputs and results replicated is a row of every operator
// and is not listed. Where rows cost the same the first wins.
type Rule func(c *Call) []Row

// A Row is a way to run an operator on blocks, along one dim of a mesh.
type Row struct {
	In  []mesh.Placement // by input; ignored where Call.In is nil
	Out []mesh.Placement // by result
}

// Short names for rules.
var (
	replicate = mesh.Replicate()
	summands  = mesh.Partial(mesh.Sum)
)

// Blocks is a call on the blocks of one rank.
type Blocks struct {
	*Call                  // the whole: shapes, arguments, c.Spec; its tensors have no elements
	T     *Tape            // applies operators to blocks; nothing is recorded
	X     []*tensor.Tensor // the rank's blocks of the inputs, plain; nil where Call.In is nil
	From  []*mesh.Placed   // how the inputs are placed; nil where Call.In is nil
	To    []*mesh.Placed   // how the results are to be placed
	Rank  int

	// Part, unless it is nil, tells apart ranks that the rank runs for: what a rule
	// does beside sizes must not hang on where its block lies, or ask here.
	Part func(m *mesh.Mesh, f func(rank int) string)
}

// same tells apart those ranks of input i's mesh of which f says something else.
func (b *Blocks) same(i int, f func(rank int) bool) bool {
	if b.Part != nil {
		b.Part(b.From[i].Mesh(), func(rank int) string { return strconv.FormatBool(f(rank)) })
	}
	return f(b.Rank)
}

// OutShape returns the shape of the rank's block of result i.
func (b *Blocks) OutShape(i int) shape.Shape { return b.To[i].LocalShape(b.Rank) }

// Span returns the indices [lo, hi) along dim d of input i that the rank holds.
func (b *Blocks) Span(i, d int) (lo, hi int) { return spanOf(b.From[i], b.Rank, d) }

// OutSpan returns the indices [lo, hi) along dim d of result i that the rank
// is to hold.
func (b *Blocks) OutSpan(i, d int) (lo, hi int) { return spanOf(b.To[i], b.Rank, d) }

func spanOf(l *mesh.Placed, rank, d int) (lo, hi int) {
	box, _ := l.Box(rank)
	return box.Lo[d], box.Hi[d]
}

// Cut reports whether dim d of input i is cut.
func (b *Blocks) Cut(i, d int) bool { return isCut(b.From[i], d) }

// OutCut reports whether dim d of result i is cut.
func (b *Blocks) OutCut(i, d int) bool { return isCut(b.To[i], d) }

func isCut(l *mesh.Placed, d int) bool {
	for _, p := range l.Placements() {
		if at, ok := p.Shard(); ok && at == d {
			return true
		}
	}
	return false
}

// Apply applies the operator itself to the blocks with other arguments.
func (b *Blocks) Apply(args ...Arg) ([]*tensor.Tensor, error) {
	return b.T.A.Apply(b.Def, b.X, args)
}

// full returns a new tensor of a shape that holds the number v.
func (b *Blocks) full(dt dtype.DType, s shape.Shape, v float64) *tensor.Tensor {
	return b.T.Do("full", []*tensor.Tensor{tensor.Number(v)}, IntsN(s...), Int1(int(dt)))
}

// rowOf returns the row in which every input and result is replicated.
func rowOf(c *Call) Row {
	return Row{In: make([]mesh.Placement, len(c.In)), Out: make([]mesh.Placement, len(c.Spec))}
}

// Elementwise is the rule of operators whose inputs are broadcast to the shape
// of the results: a dim of the results may be cut, together with that dim of
// every input that has it.
func Elementwise(c *Call) []Row {
	if len(c.Spec) == 0 {
		return nil
	}
	s := c.Spec[0].Shape
	rows := make([]Row, 0, len(s)+2)
	for d := range s {
		row := rowOf(c)
		for i := range row.Out {
			row.Out[i] = mesh.Shard(d)
		}
		for i, x := range c.In {
			if x != nil {
				row.In[i] = alongBroadcast(x.Shape(), s, d)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// alongBroadcast returns how an input of shape xs is placed where dim d of the
// shape s that it is broadcast to is cut.
func alongBroadcast(xs, s shape.Shape, d int) mesh.Placement {
	at := d - (len(s) - len(xs))
	if at < 0 || xs[at] == 1 && s[d] != 1 {
		return mesh.Replicate()
	}
	return mesh.Shard(at)
}

// Linear is the rule of elementwise operators that are linear in all inputs
// together: x + y. Sums of summands are the summands of the sum, and so are means.
func Linear(c *Call) []Row { return append(Elementwise(c), together(c, mesh.Sum, mesh.Mean)...) }

// together returns a row for each of ops in which everything is Partial.
func together(c *Call, ops ...mesh.ReduceOp) []Row { return togetherIn(c, allInputs(c), ops...) }

// LinearIn returns the rule of elementwise operators that are linear in each of
// the given inputs by itself, the others given: x * y is linear in 0 and in 1,
// x / y in 0.
func LinearIn(inputs ...int) Rule {
	return func(c *Call) []Row { return append(Elementwise(c), separately(c, inputs...)...) }
}

// separately returns rows in which one of inputs and the results are sums or
// means, and the other inputs are replicated.
func separately(c *Call, inputs ...int) []Row {
	var rows []Row
	for _, i := range inputs {
		if i < len(c.In) && c.In[i] != nil {
			rows = append(rows, togetherIn(c, []int{i}, mesh.Sum, mesh.Mean)...)
		}
	}
	return rows
}

// Monotonic is the rule of elementwise operators of one input that never
// decrease: they may be applied before a maximum or minimum is taken.
func Monotonic(c *Call) []Row { return append(Elementwise(c), together(c, mesh.Max, mesh.Min)...) }
