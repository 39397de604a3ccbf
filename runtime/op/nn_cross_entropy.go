package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	x := Param{Name: "x", Kind: Tensor, Doc: "a float tensor [c], [n, c] or [n, c, d1, ...] of c classes"}
	weight := Param{Name: "weight", Kind: OptTensor, Doc: "a float tensor [c], the weight of each class, or None", Default: Default(None)}
	ignore := Param{Name: "ignore_index", Kind: Int, Doc: "a target that does not count", Default: Default(Int1(-100))}
	smoothing := Param{Name: "label_smoothing", Kind: Float, Doc: "how much of each target is spread over all classes, 0 to 1", Default: Default(Float1(0))}
	register(&Def{
		Name:    "cross_entropy",
		Surface: Namespace,
		Doc: "cross_entropy(x, target, weight=None, ignore_index=-100, reduction=\"mean\", label_smoothing=0.0) returns the cross entropy of the softmax of x over its classes against target.\n" +
			"The target holds the index of the right class: integers of the shape of x without\n" +
			"its dim of classes. Or it holds probabilities: floats of the shape of x. The mean is\n" +
			"over the targets that count, by their weights; of probabilities over all.\n" +
			">>> F.cross_entropy(tensor([[0.0, 0.0]]), tensor([1]))\n" +
			"0.6931472",
		Params: []Param{x, {Name: "target", Kind: Tensor, Doc: "an integer tensor [], [n] or [n, d1, ...], or a float tensor of the shape of x"},
			weight, ignore, reductionParam, smoothing},
		Infer:   inferCrossEntropy,
		Run:     runCrossEntropy,
		Reads:   ReadsInputs,
		Grad:    crossEntropyGrad,
		Shard:   classLossRule,
		Local:   localLoss,
		Compose: composeClassLoss,
		Cost:    classCost,
	})
	register(&Def{
		Name:    "nll_loss",
		Surface: Namespace,
		Doc: "nll_loss(x, target, weight=None, ignore_index=-100, reduction=\"mean\") returns minus the elements of x that target names, averaged.\n" +
			"x holds logarithms of probabilities; see cross_entropy.\n" +
			">>> F.nll_loss(tensor([[-1.0, -2.0]]), tensor([1]))\n" +
			"2.0",
		Params: []Param{x, {Name: "target", Kind: Tensor, Doc: "an integer tensor [], [n] or [n, d1, ...]"},
			weight, ignore, reductionParam},
		Infer: inferNLL,
		Run:   func(c *Call) error { return c.runClassLoss(c.classLoss()) },
		Reads: ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.Neg(t.Mul(t.classGradient(c, dy[0]), t.classWeights(c))), nil, nil}
		},
		Shard:   classLossRule,
		Local:   localLoss,
		Compose: composeClassLoss,
		Cost:    nllCost,
	})
	register(&Def{
		Name:    "class_weights",
		Surface: Internal,
		Doc:     "class_weights(x, target, weight, ignore_index, reduction, label_smoothing) returns what cross_entropy multiplies minus the logarithms of the probabilities with.",
		Params: []Param{x, {Name: "target", Kind: Tensor, Doc: "an integer tensor"},
			weight, ignore, reductionParam, smoothing},
		Infer: func(c *Call) error {
			if err := c.checkClasses(); err != nil {
				return err
			}
			return c.Result(c.In[0].DType(), c.In[0].Shape())
		},
		Run:   runClassWeights,
		Shard: targetRows,
		Cost:  classWeightsCost,
	})
}

// classDim returns the dim of classes of a tensor of shape s.
func classDim(s shape.Shape) int { return min(len(s)-1, 1) }

// withoutClasses returns s without its dim of classes.
func withoutClasses(s shape.Shape) shape.Shape {
	d := classDim(s)
	return append(append(shape.Shape{}, s[:d]...), s[d+1:]...)
}

// probabilities reports whether the target of c holds probabilities.
func (c *Call) probabilities() bool { return c.In[1].DType().IsFloat() }

// classLoss returns the loss that the arguments of c describe.
func (c *Call) classLoss() kernel.ClassLoss {
	l := kernel.ClassLoss{Logits: c.Def.Name == "cross_entropy", Ignore: int64(c.Args[0].Int)}
	if len(c.Args) > 2 {
		l.Smoothing = c.Args[2].Float
	}
	return l
}

func inferCrossEntropy(c *Call) error {
	if c.In[0].Ndim() > 0 && c.probabilities() {
		return c.inferSoftTargets()
	}
	return inferNLL(c)
}

func inferNLL(c *Call) error {
	if err := c.checkClasses(); err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), reduced(c.Args[1].Str, c.In[1].Shape()))
}

// checkClasses returns an error unless the inputs of c are numbers by class,
// the indices of the right classes, and the weights of the classes or nil.
func (c *Call) checkClasses() error {
	x, target := c.In[0], c.In[1]
	if err := c.checkScores(); err != nil {
		return err
	}
	if !target.DType().IsInt() {
		return c.Bad("target", Describe(target), "an integer tensor", "")
	}
	if want := withoutClasses(x.Shape()); !target.Shape().Equal(want) {
		return c.Bad("target", Describe(target), "shape "+want.String(), "shape of x without classes: x is "+Describe(x))
	}
	return nil
}

// checkScores returns an error unless x, weight and label_smoothing fit
// together.
func (c *Call) checkScores() error {
	x, weight := c.In[0], c.In[2]
	if !x.DType().IsFloat() || x.Ndim() == 0 {
		return c.Bad("x", Describe(x), "a float tensor [c], [n, c] or [n, c, d1, ...]", "")
	}
	classes := x.Shape()[classDim(x.Shape())]
	if weight != nil && (!weight.DType().IsFloat() || !weight.Shape().Equal(shape.Shape{classes})) {
		return c.Bad("weight", Describe(weight), fmt.Sprintf("a float tensor of shape (%d,)", classes), "a weight for each class")
	}
	if len(c.Args) > 2 {
		return c.checkProbability("label_smoothing", c.Args[2].Float)
	}
	return nil
}

func (c *Call) inferSoftTargets() error {
	x, target := c.In[0], c.In[1]
	if err := c.checkScores(); err != nil {
		return err
	}
	if !target.Shape().Equal(x.Shape()) {
		return c.Bad("target", Describe(target), "shape "+x.Shape().String(), "probabilities have the shape of x")
	}
	return c.Result(promote(c.Ctx, x, target), reduced(c.Args[1].Str, withoutClasses(x.Shape())))
}

func runCrossEntropy(c *Call) error {
	if !c.probabilities() {
		return c.runClassLoss(c.classLoss())
	}
	if c.Out[0].DType() == dtype.Float64 {
		return runSoftClassLoss[float64](c)
	}
	return runSoftClassLoss[float32](c)
}

// A classCase is the inputs of a loss over classes as kernels take them.
type classCase[T dtype.Float] struct {
	x, weight []T
	target    []int64
	classes   int
	keep      []*tensor.Tensor // what the slices belong to
}

// newClassCase returns the inputs of c, the classes moved to the last dim. It
// fails if a target is no class.
func newClassCase[T dtype.Float](c *Call, dt dtype.DType, ignore int64) (k classCase[T], err error) {
	d := classDim(c.In[0].Shape())
	x, err := c.inOrder(lastDim(c.In[0], d), dt)
	if err != nil {
		return k, err
	}
	k = classCase[T]{x: tensor.Data[T](x), classes: c.In[0].Shape()[d], keep: []*tensor.Tensor{x}}
	if c.In[2] != nil {
		w, err := c.inOrder(c.In[2], dt)
		if err != nil {
			return k, err
		}
		k.weight, k.keep = tensor.Data[T](w), append(k.keep, w)
	}
	if c.probabilities() {
		return k, nil
	}
	target, err := c.inOrder(c.In[1], dtype.Int64)
	if err != nil {
		return k, err
	}
	k.target, k.keep = tensor.Data[int64](target), append(k.keep, target)
	for i, y := range k.target {
		if y != ignore && (y < 0 || y >= int64(k.classes)) {
			return k, c.badElement("target", c.In[1], i, y, fmt.Sprintf("0..%d", k.classes-1), "the classes of x")
		}
	}
	return k, nil
}

// runClassLoss computes the loss l of indices of classes.
func (c *Call) runClassLoss(l kernel.ClassLoss) error {
	if c.Out[0].DType() == dtype.Float64 {
		return runClassLoss[float64](c, l)
	}
	return runClassLoss[float32](c, l)
}

func runClassLoss[T dtype.Float](c *Call, l kernel.ClassLoss) error {
	k, err := newClassCase[T](c, c.Out[0].DType().Compute(), l.Ignore)
	if err != nil {
		return err
	}
	losses := make([]T, len(k.target))
	kernel.ClassLossTo(losses, k.x, k.weight, k.target, k.classes, l)
	total := kernel.ClassTotal(k.weight, k.target, l.Ignore)
	goruntime.KeepAlive(k.keep)
	return storeLosses(c, losses, total)
}

func runSoftClassLoss[T dtype.Float](c *Call) error {
	dt := c.Out[0].DType().Compute()
	k, err := newClassCase[T](c, dt, 0)
	if err != nil {
		return err
	}
	target, err := c.inOrder(lastDim(c.In[1], classDim(c.In[1].Shape())), dt)
	if err != nil {
		return err
	}
	losses := make([]T, withoutClasses(c.In[0].Shape()).Numel())
	kernel.SoftClassLossTo(losses, k.x, k.weight, tensor.Data[T](target), k.classes, c.Args[2].Float)
	goruntime.KeepAlive(target)
	goruntime.KeepAlive(k.keep)
	return storeLosses(c, losses, float64(len(losses)))
}

// storeLosses puts losses, joined as Args[1] says, in c.Out[0]. total is what
// their mean divides by.
func storeLosses[T dtype.Float](c *Call, losses []T, total float64) error {
	switch c.Args[1].Str {
	case "mean":
		losses = []T{T(kernel.Total(losses) / total)}
	case "sum":
		losses = []T{T(kernel.Total(losses))}
	}
	out, err := c.newOutput(c.Out[0], c.Out[0].DType().Compute())
	if err != nil {
		return err
	}
	copy(tensor.Data[T](out.room), losses)
	out.done()
	return nil
}

func runClassWeights(c *Call) error {
	if c.In[0].DType() == dtype.Float64 {
		return classWeights[float64](c)
	}
	return classWeights[float32](c)
}

func classWeights[T dtype.Float](c *Call) error {
	l, dt := c.classLoss(), c.Out[0].DType().Compute()
	k, err := newClassCase[T](c, dt, l.Ignore)
	if err != nil {
		return err
	}
	scale := 1.0
	if c.Args[1].Str == "mean" {
		scale /= kernel.ClassTotal(k.weight, k.target, l.Ignore)
	}
	out, err := c.newOutput(lastDim(c.Out[0], classDim(c.Out[0].Shape())), dt)
	if err != nil {
		return err
	}
	kernel.ClassWeightsTo(tensor.Data[T](out.room), k.weight, k.target, k.classes, l, scale)
	goruntime.KeepAlive(k.keep)
	out.done()
	return nil
}

// classWeights returns the numbers T, of the shape of x, such that the loss of
// c is -Σ T log p.
func (t *Tape) classWeights(c *Call) *tensor.Tensor {
	x := t.wide(c.In[0])
	if !c.probabilities() {
		args := append([]Arg(nil), c.Args...)
		if len(args) == 2 {
			args = append(args, Float1(0))
		}
		return t.Do("class_weights", []*tensor.Tensor{x, c.In[1], c.In[2]}, args...)
	}
	smoothing, s := c.Args[2].Float, x.Shape()
	d := classDim(s)
	w := t.AddNumber(t.Scale(t.wide(c.In[1]), 1-smoothing), smoothing/float64(s[d]))
	if c.In[2] != nil {
		w = t.Mul(w, t.classColumn(c.In[2], s))
	}
	return t.reduceGrad(c.Args[1].Str, w, withoutClasses(s).Numel())
}

// classColumn returns w, which has an element for each class, in a shape that
// broadcasts to s.
func (t *Tape) classColumn(w *tensor.Tensor, s shape.Shape) *tensor.Tensor {
	out := make(shape.Shape, len(s)-classDim(s))
	for i := range out {
		out[i] = 1
	}
	out[0] = s[classDim(s)]
	return t.Reshape(t.wide(w), out)
}

// classGradient returns dy, the gradient of the loss c, in a shape that
// broadcasts to that of x.
func (t *Tape) classGradient(c *Call, dy *tensor.Tensor) *tensor.Tensor {
	if c.Args[1].Str != "none" {
		return t.wide(dy)
	}
	return t.column(t.wide(dy), classDim(c.In[0].Shape()))
}

// crossEntropyGrad is dx = dy (softmax(x) ΣT - T), for the T of classWeights.
func crossEntropyGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x := t.wide(c.In[0])
	s := x.Shape()
	d := classDim(s)
	if !t.recording() && !c.probabilities() {
		in := []*tensor.Tensor{x, c.In[1], c.In[2], t.wide(dy[0])}
		return []*tensor.Tensor{t.Do("cross_entropy_grad", in, c.Args...), nil, nil}
	}
	w, g := t.classWeights(c), t.classGradient(c, dy[0])
	p := t.Do("softmax", []*tensor.Tensor{x}, Int1(d), None)
	dx := []*tensor.Tensor{t.Mul(g, t.Sub(t.Mul(p, t.Sum(w, []int{d}, true)), w)), nil, nil}
	if c.In[1].RequiresGrad() {
		dx[1] = t.softTargetGrad(c, x, g)
	}
	return dx
}

// softTargetGrad returns the gradient of probabilities as target, whose loss
// is -Σ weight ((1-ε) target + ε/classes) log p.
func (t *Tape) softTargetGrad(c *Call, x, g *tensor.Tensor) *tensor.Tensor {
	s := x.Shape()
	logp := t.Do("log_softmax", []*tensor.Tensor{x}, Int1(classDim(s)), None)
	dt := t.Mul(t.Scale(logp, c.Args[2].Float-1), g)
	if c.In[2] != nil {
		dt = t.Mul(dt, t.classColumn(c.In[2], s))
	}
	return t.reduceGrad(c.Args[1].Str, dt, withoutClasses(s).Numel())
}
