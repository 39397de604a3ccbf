package op

import (
	"errors"
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// What cross_entropy and nll_loss are made of where ranks hold blocks: the
// classes may be cut without any rank holding all of a row, and the mean is over
// the targets that count on all ranks.

func init() {
	target := Param{Name: "target", Kind: Tensor, Doc: "an integer tensor"}
	classes := Param{Name: "classes", Kind: Int, Doc: "how many classes there are"}
	ignore := Param{Name: "ignore_index", Kind: Int, Doc: "a target that does not count"}
	register(&Def{
		Name:    "class_index",
		Surface: Internal,
		Doc:     "class_index(target, classes, ignore_index) returns target with 0 in place of ignore_index. All else must be the index of a class.",
		Params:  []Param{target, classes, ignore},
		Infer:   func(c *Call) error { return c.inferTargets(dtype.Int64, c.In[0].Shape()) },
		Run: func(c *Call) error {
			dst := tensor.Data[int64](c.Out[0])
			return c.eachTarget(c.In[0], func(i int, y int64) { dst[i] = max(y, 0) })
		},
		Shard: Elementwise,
	})
	register(&Def{
		Name:    "class_total",
		Surface: Internal,
		Doc:     "class_total(target, weight, classes, ignore_index, dtype) returns the sum of the weights, or of ones, of the targets that count.",
		Params: []Param{target, {Name: "weight", Kind: OptTensor, Doc: "a float tensor [c], or None"}, classes, ignore,
			{Name: "dtype", Kind: DType, Doc: "a float dtype"}},
		Infer: func(c *Call) error { return c.inferTargets(dtype.DType(c.Args[2].Int), nil) },
		Run: func(c *Call) error {
			total, err := c.classTotal(c.In[0], c.In[1], 0)
			if err != nil {
				return err
			}
			return fillWith(c.Out[0], total)
		},
		Shard: classTotalRule,
		Local: localClassTotal,
		Cost:  classTotalCost,
	})
}

// inferTargets sets the result of an operator on indices of classes.
func (c *Call) inferTargets(dt dtype.DType, s shape.Shape) error {
	if err := c.checkInts("target", c.In[0]); err != nil {
		return err
	}
	return c.Result(dt, s)
}

// eachTarget calls f with the elements of target in order, -1 in place of
// ignore_index. It fails if one is no class.
func (c *Call) eachTarget(target *tensor.Tensor, f func(i int, y int64)) error {
	classes, ignore := int64(c.Args[0].Int), int64(c.Args[1].Int)
	for i, y := range Int64s(target) {
		if y == ignore {
			y = -1
		} else if y < 0 || y >= classes {
			return c.badElement("target", target, i, y, fmt.Sprintf("0..%d", classes-1), "the classes of x")
		}
		f(i, y)
	}
	return nil
}

// classTotal returns the sum of the weights of the targets that count, given
// those of the classes from lo on, or of ones if weight is nil.
func (c *Call) classTotal(target, weight *tensor.Tensor, lo int) (float64, error) {
	var w []float64
	if weight != nil {
		w = Float64s(weight)
	}
	total := 0.0
	err := c.eachTarget(target, func(_ int, y int64) {
		at := int(y) - lo
		switch {
		case y < 0:
		case weight == nil:
			total++
		case at >= 0 && at < len(w):
			total += w[at]
		}
	})
	return total, err
}

// classTotalRule: the targets may be cut, and the weights.
func classTotalRule(c *Call) []Row {
	var rows []Row
	for d := range c.In[0].Shape() {
		row := rowOf(c)
		row.In[0], row.Out[0] = mesh.Shard(d), summands
		rows = append(rows, row)
	}
	if c.In[1] != nil {
		row := rowOf(c)
		row.In[1], row.Out[0] = mesh.Shard(0), summands
		rows = append(rows, row)
	}
	return rows
}

func localClassTotal(b *Blocks) ([]*tensor.Tensor, error) {
	lo := 0
	if b.X[1] != nil {
		lo, _ = b.Span(1, 0)
	}
	total, err := b.classTotal(b.X[0], b.X[1], lo)
	if err != nil {
		return nil, err
	}
	return one(b.full(b.Spec[0].DType, nil, total)), nil
}

// classLossRule: every dim but that of the classes may be cut. A mean over
// targets that count takes more: composeClassLoss. nll_loss is linear in x.
func classLossRule(c *Call) []Row {
	rows := targetRows(c)
	if c.Def.Name == "nll_loss" {
		rows = append(rows, separately(c, 0)...)
	}
	return rows
}

// targetRows returns the rows in which x and target are cut between targets.
// The result has their shape, or that of x, or is a sum.
func targetRows(c *Call) []Row {
	s, how := c.In[0].Shape(), c.Args[1].Str
	if how == "mean" && !c.probabilities() {
		return nil
	}
	var rows []Row
	for d := range s {
		if d == classDim(s) {
			continue
		}
		row := rowOf(c)
		at := mesh.Shard(d)
		if d > classDim(s) {
			at = mesh.Shard(d - 1)
		}
		row.In[0], row.In[1], row.Out[0] = mesh.Shard(d), at, at
		if c.probabilities() {
			row.In[1] = row.In[0]
		}
		if c.Def.Name == "class_weights" {
			row.Out[0] = row.In[0]
		} else if how != "none" {
			row.Out[0] = summands
		}
		rows = append(rows, row)
	}
	return rows
}

// composeClassLoss makes the loss of class by class where classes are cut, and
// elsewhere a mean over targets of their sum.
func composeClassLoss(t *Tape, c *Call) []*tensor.Tensor {
	x, how := c.In[0], c.Args[1].Str
	s := x.Shape()
	in := make([]bool, len(s))
	in[classDim(s)] = true
	dt := x.DType()
	if c.probabilities() {
		dt = promote(c.Ctx, x, c.In[1])
	}
	var y *tensor.Tensor
	switch {
	case s[classDim(s)] > 0 && (cutIn(x, in) || c.probabilities() && cutIn(c.In[1], in)):
		y = t.classLosses(c)
		if how != "none" {
			y = t.Do("sum", one(y), None, Bool1(false))
		}
	case how == "mean" && !c.probabilities():
		args := append([]Arg(nil), c.Args...)
		args[1] = Str1("sum")
		y = t.Do(c.Def.Name, []*tensor.Tensor{t.wide(x), c.In[1], c.In[2]}, args...)
	default:
		return nil
	}
	if how == "mean" {
		y = t.classMean(c, y)
	}
	return one(t.Cast(y, dt))
}

// classMean divides sum, the sum of the losses of c, by what counts. Where
// nothing counts the mean is NaN and its gradient 0.
func (t *Tape) classMean(c *Call, sum *tensor.Tensor) *tensor.Tensor {
	if c.probabilities() {
		return t.Div(sum, tensor.Number(float64(withoutClasses(c.In[0].Shape()).Numel())))
	}
	total := t.shared(t.doFor(c, "class_total", []*tensor.Tensor{c.In[1], c.classWeight()}, c.classCount(), c.Args[0], Int1(int(sum.DType()))))
	none := t.isZero(total)
	mean := t.Div(sum, t.Where(none, tensor.Number(1.0), total))
	return t.Where(none, t.Div(sum.Detach(), total), mean)
}

// doFor is Do for an operator composed of others, whose errors name it.
func (t *Tape) doFor(c *Call, name string, in []*tensor.Tensor, args ...Arg) *tensor.Tensor {
	out, err := t.A.Apply(must(name), in, args)
	if err != nil {
		var bad *ArgError
		if errors.As(err, &bad) {
			named := *bad
			named.Func = c.Def.Name
			err = &named
		}
		panic(&TapeError{err})
	}
	return out[0]
}

// classCount returns the number of classes of c as an argument.
func (c *Call) classCount() Arg {
	s := c.In[0].Shape()
	return Int1(s[classDim(s)])
}

// classWeight returns the weights of the classes, which get no gradient.
func (c *Call) classWeight() *tensor.Tensor {
	if c.In[2] == nil {
		return nil
	}
	return c.In[2].Detach()
}

// classLosses returns the loss of each target of c. No rank needs a whole row
// of x: the norm is made of sums, and what a target names comes from the rank
// that holds it. Three numbers of each target are all that cross_entropy
// communicates, none of them in the backward pass (Shoeybi and others,
// "Megatron-LM", 2019, §3).
func (t *Tape) classLosses(c *Call) *tensor.Tensor {
	x, smoothing := t.wide(t.settled(c.In[0])), 0.0
	s := x.Shape()
	d := classDim(s)
	if len(c.Args) > 2 {
		smoothing = c.Args[2].Float
	}
	if c.probabilities() {
		x = t.Sub(x, t.most(x, d))
		norm := t.unary("log", t.shared(t.Sum(t.unary("exp", x), []int{d}, true)))
		share := t.AddNumber(t.Scale(t.wide(t.settled(c.In[1])), 1-smoothing), smoothing/float64(s[d]))
		return t.spreadLoss(c, t.Mul(share, t.Sub(norm, x)))
	}
	y := t.doFor(c, "class_index", one(c.In[1]), c.classCount(), c.Args[0])
	rest := withoutClasses(s)
	var norm, picked *tensor.Tensor
	if c.classLoss().Logits {
		most := t.most(x, d)
		sums := t.several("class_sums", []*tensor.Tensor{x, most, t.column(y, d)}, Int1(0))
		norm, picked = t.unary("log", t.shared(sums[0])), t.shared(sums[1])
		if smoothing > 0 {
			x = t.Sub(x, most)
		}
	} else {
		norm, picked = tensor.Number(0.0), t.Do("gather", []*tensor.Tensor{x, t.column(y, d)}, Int1(d))
	}
	loss := t.Scale(t.Reshape(t.Sub(norm, picked), rest), 1-smoothing)
	if w := c.classWeight(); w != nil {
		loss = t.Mul(loss, t.Reshape(t.takeRows(y, t.Reshape(t.wide(w), shape.Shape{s[d], 1})), rest))
	}
	if smoothing > 0 {
		loss = t.Add(loss, t.Scale(t.spreadLoss(c, t.Sub(norm, x)), smoothing/float64(s[d])))
	}
	counts := t.binary("ne", c.In[1], tensor.Number(int64(c.Args[0].Int)))
	return t.Where(counts, loss, tensor.Number(0.0))
}

// spreadLoss sums losses over the classes, by their weights.
func (t *Tape) spreadLoss(c *Call, losses *tensor.Tensor) *tensor.Tensor {
	s := losses.Shape()
	if w := c.classWeight(); w != nil {
		losses = t.Mul(losses, t.classColumn(w, s))
	}
	return t.Sum(losses, []int{classDim(s)}, false)
}
