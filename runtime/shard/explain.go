package shard

import (
	"cmp"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// An Explanation is how the engine carries out one operator on placed tensors: which inputs
// it moves, by which rows of the operator's rule, and which other rows it could have taken.
type Explanation struct {
	Name     string
	Mesh     *mesh.Mesh
	Inputs   []Input
	Out      []*mesh.Placed
	Exchange bool // the ranks exchange the elements that each lacks of the result, and move no input
	Seconds  float64
	Rows     int      // how many rows the rule has
	Others   []Option // other rows that the rule allows, cheapest first, of which most are left out
}

// An Input is a tensor that an operator takes, and how it is brought to where the
// operator uses it.
type Input struct {
	Name     string
	What     string // dtype and shape
	From, To *mesh.Placed
	Plan     *mesh.Plan
}

// An Option is another way to carry out an operator: where inputs would go, how
// results would lie, and the seconds that it takes to bring the inputs there, with
// those of reducing results that are left Partial.
type Option struct {
	In, Out []*mesh.Placed
	Seconds float64
}

// mostOptions is how many options an Explanation has at most.
const mostOptions = 3

// Observe has tell called with every operator on placed tensors before it is carried
// out, until stop is called. Operators that are made of others are told as these.
func (e *Engine) Observe(tell func(*Explanation)) (stop func()) {
	outer := e.observer
	e.observer = tell
	return func() { e.observer = outer }
}

// observe tells an observer, if there is one, of the decision dec.
func (e *Engine) observe(dec *decision, in []*tensor.Tensor) {
	if e.observer == nil {
		return
	}
	x := &Explanation{Name: dec.call.Def.Name, Mesh: dec.mesh, Out: dec.out, Exchange: dec.exchanges()}
	for i, t := range in {
		if t == nil || t.Weak() && !t.Placed() {
			continue
		}
		input := Input{Name: dec.call.InName(i), What: op.Describe(dec.call.In[i]), From: dec.from[i], To: dec.in[i]}
		if t.Placed() && !x.Exchange {
			if plan, err := e.host.Layouts().Plan(dec.from[i], dec.in[i], t.DType().Size()); err == nil {
				input.Plan = plan
				x.Seconds += plan.Seconds
			}
		}
		x.Inputs = append(x.Inputs, input)
	}
	if !dec.call.ByValue() && !x.Exchange {
		x.Rows, x.Others = e.options(dec)
	}
	e.observer(x)
}

// options returns how many rows the rule has, and which others it allows where something
// is moved.
func (e *Engine) options(dec *decision) (rows int, others []Option) {
	lists := e.rows(dec)
	rows = len(lists[0])
	if !dec.moves {
		return rows, nil
	}
	pick := make([]int, len(lists))
	for more := true; more; more = next(pick, lists) {
		for _, way := range waysOf(dec) {
			c, err := e.candidate(dec, lists, pick, way, nil)
			if c == nil || err != nil || slices.Equal(c.in, dec.in) && slices.Equal(c.out, dec.out) {
				continue
			}
			same := func(o Option) bool { return slices.Equal(o.In, c.in) && slices.Equal(o.Out, c.out) }
			if !slices.ContainsFunc(others, same) {
				others = append(others, Option{c.in, c.out, c.seconds})
			}
		}
	}
	slices.SortStableFunc(others, func(a, b Option) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return rows, others[:min(len(others), mostOptions)]
}
