package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// togetherIn returns a row for each of ops in which the given inputs and the
// results are partial and the other inputs are replicated. There is none where
// converting the inputs to the dtypes of the results first makes a difference.
func togetherIn(c *Call, inputs []int, ops ...mesh.ReduceOp) []Row {
	var rows []Row
	for _, by := range ops {
		if !c.survives(by, inputs) {
			continue
		}
		row := rowOf(c)
		for _, i := range inputs {
			if c.In[i] != nil {
				row.In[i] = mesh.Partial(by)
			}
		}
		for i := range row.Out {
			row.Out[i] = mesh.Partial(by)
		}
		rows = append(rows, row)
	}
	return rows
}

// survives reports whether a reduction of the given inputs by the operation may
// follow their conversion to the dtype of each result.
func (c *Call) survives(by mesh.ReduceOp, inputs []int) bool {
	keeps := keepsSum
	if by == mesh.Max || by == mesh.Min {
		keeps = keepsOrder
	}
	for _, i := range inputs {
		for _, s := range c.Spec {
			if x := c.In[i]; x != nil && !keeps(x, s.DType) {
				return false
			}
		}
	}
	return true
}

// allInputs returns the indices of the inputs that are not None.
func allInputs(c *Call) []int {
	var list []int
	for i, x := range c.In {
		if x != nil {
			list = append(list, i)
		}
	}
	return list
}

// keepsSum reports whether sums of what x holds stay sums in dtype to: narrower
// floats round, integers of another width wrap around elsewhere, and of bools
// there is no sum. Half-wide summands would give digits that their sum, rounded,
// does not have: a program of mixed precision would not be the plain one.
func keepsSum(x *tensor.Tensor, to dtype.DType) bool {
	from := x.DType()
	switch {
	case to == dtype.Bool || from == dtype.Bool:
		return false
	case from == to:
		return true
	case from.IsFloat():
		return to.IsFloat() && (x.Weak() || from.Size() < to.Size() && from.Size() > 2)
	}
	return x.Weak() || from == dtype.Int64 && to.IsFloat()
}

// keepsOrder reports whether the order of what x holds is that in dtype to:
// integers may not wrap around, and NaN stays.
func keepsOrder(x *tensor.Tensor, to dtype.DType) bool {
	from := x.DType()
	return from == to || to.IsFloat() || !from.IsFloat() && from.Size() < to.Size()
}

// anyPartial are the reductions that copying does nothing to.
var anyPartial = []mesh.ReduceOp{mesh.Sum, mesh.Mean, mesh.Prod, mesh.Max, mesh.Min}

// Copying is the rule of operators that change no value but for converting it.
func Copying(c *Call) []Row { return append(Elementwise(c), together(c, anyPartial...)...) }

// with returns the rule that adds to the rows of r one for each of ops, in
// which all inputs and results are partial.
func (r Rule) with(ops ...mesh.ReduceOp) Rule {
	return func(c *Call) []Row { return append(r(c), together(c, ops...)...) }
}

// withScalar returns r for an operator whose input i, of one element, is
// broadcast whatever its shape: it is never cut.
func (r Rule) withScalar(i int) Rule {
	return func(c *Call) []Row {
		rows := r(c)
		for _, row := range rows {
			if _, cut := row.In[i].Shard(); cut {
				row.In[i] = replicate
			}
		}
		return rows
	}
}

// keptRows returns the rows of a reduction of the first input in which a dim
// that stays is cut.
func keptRows(c *Call) []Row {
	dims, _ := c.reduced()
	keep, at := c.Args[c.dimArg()+1].Int != 0, 0
	var rows []Row
	for d, gone := range dims {
		if !gone {
			row := rowOf(c)
			row.In[0] = mesh.Shard(d)
			for i := range row.Out {
				row.Out[i] = mesh.Shard(at)
			}
			rows = append(rows, row)
		}
		if !gone || keep {
			at++
		}
	}
	return rows
}

// reducedRows returns the rows of a reduction of the first input in which a dim
// that is reduced is cut, and by makes the result of those of the blocks.
func reducedRows(c *Call, by mesh.ReduceOp) []Row {
	dims, _ := c.reduced()
	var rows []Row
	for _, d := range listed(dims) {
		row := rowOf(c)
		row.In[0] = mesh.Shard(d)
		for i := range row.Out {
			row.Out[i] = mesh.Partial(by)
		}
		rows = append(rows, row)
	}
	return rows
}

// reduction returns the rule of an operator that reduces the first input by the
// given operation. keeps are those that it may follow as well as precede.
func reduction(by mesh.ReduceOp, keeps ...mesh.ReduceOp) Rule {
	return func(c *Call) []Row {
		rows := append(reducedRows(c, by), keptRows(c)...)
		return append(rows, togetherIn(c, []int{0}, keeps...)...)
	}
}

// kept is the rule of a reduction that needs whole rows.
var kept Rule = keptRows

// besides returns the rule of operators whose inputs and results have the same
// dims and that work along some: every other dim may be cut.
func besides(along func(c *Call) []bool) Rule {
	return func(c *Call) []Row {
		var rows []Row
		in := along(c)
		for d := range c.In[0].Shape() {
			if in[d] {
				continue
			}
			row := rowOf(c)
			for i, x := range c.In {
				if x != nil {
					row.In[i] = mesh.Shard(d)
				}
			}
			for i := range row.Out {
				row.Out[i] = mesh.Shard(d)
			}
			rows = append(rows, row)
		}
		return rows
	}
}

// onAxis returns the dim that Args[i] names, as besides takes it.
func onAxis(i int) func(c *Call) []bool {
	return func(c *Call) []bool {
		s := c.In[0].Shape()
		in := make([]bool, max(len(s), 1))
		d, _ := c.axis(i, s)
		in[d] = true
		return in
	}
}

// spreadRows returns a row for each dim of s, to which the inputs are
// broadcast, with that dim cut in every input that has it and the result as out
// says. Inputs that are None have no part.
func spreadRows(c *Call, s []int, out func(d int) mesh.Placement) []Row {
	var rows []Row
	for d := range s {
		row := rowOf(c)
		for i, x := range c.In {
			if x != nil {
				row.In[i] = alongBroadcast(x.Shape(), s, d)
			}
		}
		for i := range row.Out {
			row.Out[i] = out(d)
		}
		rows = append(rows, row)
	}
	return rows
}

// cutIn reports whether a dim of x that is true in dims is cut. Of a plain
// tensor all are: what is composed of it is as right.
func cutIn(x *tensor.Tensor, dims []bool) bool {
	if !x.Placed() {
		return true
	}
	for d, in := range dims {
		if in && isCut(x.Layout(), d) {
			return true
		}
	}
	return false
}

// without returns which of n dims are not among dims.
func without(n int, dims []int) []bool {
	in := make([]bool, n)
	for d := range in {
		in[d] = !slices.Contains(dims, d)
	}
	return in
}

// settled returns x with its summands, if it has any, made into one, and
// perhaps cut: for an operator composed of several that would each do so.
func (t *Tape) settled(x *tensor.Tensor) *tensor.Tensor {
	if x == nil || !x.Placed() || !x.Layout().IsPartial() {
		return x
	}
	var dims []int
	for d := range x.Ndim() {
		dims = append(dims, slices.Repeat([]int{d}, x.Layout().Mesh().NDim())...)
	}
	return t.Do("settle", one(x), IntsN(dims...))
}

// shared returns x, of few elements that are used more than once, with its
// summands, if it has any, made into one that all ranks have which had one.
func (t *Tape) shared(x *tensor.Tensor) *tensor.Tensor {
	if !x.Placed() || !x.Layout().IsPartial() {
		return x
	}
	return t.Do("settle", one(x), IntsN(cuts(x.Layout())...))
}

// cuts returns the dims that l cuts, each as often as a mesh dim cuts it.
func cuts(l *mesh.Placed) []int {
	var dims []int
	for _, p := range l.Placements() {
		if d, cut := p.Shard(); cut {
			dims = append(dims, d)
		}
	}
	return dims
}

// settledAligned reports whether no dim is cut more often than settle lists it.
func settledAligned(c *Call, _, to []*mesh.Placed) bool {
	allowed := map[int]int{}
	for _, d := range c.Args[0].Ints {
		allowed[d]++
	}
	for _, d := range cuts(to[0]) {
		if allowed[d]--; allowed[d] < 0 {
			return false
		}
	}
	return true
}

// ofBools is with, where all inputs are bools.
func (r Rule) ofBools(ops ...mesh.ReduceOp) Rule {
	return func(c *Call) []Row {
		if slices.ContainsFunc(c.In, func(x *tensor.Tensor) bool { return x.DType() != dtype.Bool }) {
			return r(c)
		}
		return r.with(ops...)(c)
	}
}
