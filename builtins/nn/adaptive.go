package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

var adaptiveClass = &class{Name: "AdaptiveLogSoftmaxWithLoss", forward: adaptiveForward, methods: true}

func init() {
	made := "nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], div_value=2.0)"
	builtins.Register(&builtins.Row{
		Name: "nn.AdaptiveLogSoftmaxWithLoss",
		Doc: "AdaptiveLogSoftmaxWithLoss(in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, dtype=None, device=None) returns a module that finds the probabilities of many classes, the frequent ones first (Grave et al., arXiv 1609.04309).\n" +
			"cutoffs ascend: classes below the first are the head's, which also has one for each cluster\n" +
			"of those from a cutoff to the next. A call m(input, target) of input [n, in_features] and\n" +
			"target [n], or [in_features] and one, returns (output, loss): the logarithms of the\n" +
			"probabilities of the targets, and less their mean. Its modules are head, a Linear, and tail,\n" +
			"a list of two Linears for each cluster, of in_features / div_value**(i + 1) between them.\n" +
			"Every cluster is computed for all of the input. " + docDType + "\n" +
			">>> m = " + made + "\n" +
			">>> output, loss = m(ones(3, 8), tensor([0, 4, 9]))\n" +
			">>> output.shape, loss.shape\n((3,), ())",
		Fn: newAdaptive,
	},
		&builtins.Row{Name: adaptiveClass.Name, Base: "Module", Doc: adaptiveClass.Name + " is the type of what nn." + adaptiveClass.Name + " makes: a module with methods of its own."},
		adaptiveRow("log_prob", "log_prob(input) returns the logarithms of the probabilities of all classes, [n, n_classes], for input [n, in_features].\n>>> "+made+".log_prob(ones(3, 8)).exp().sum(1).round().tolist()\n[1.0, 1.0, 1.0]",
			func(c *adaptiveCall) *tensor.Tensor { return c.logProb(c.head()) }),
		adaptiveRow("predict", "predict(input) returns the classes of the greatest probability [n], for input [n, in_features].\n>>> "+made+".predict(ones(3, 8)).shape\n(3,)",
			(*adaptiveCall).predict))
}

// adaptiveRow returns the row of a method of one input.
func adaptiveRow(name, doc string, do func(c *adaptiveCall) *tensor.Tensor) *builtins.Row {
	return &builtins.Row{Name: adaptiveClass.Name + "." + name, Doc: doc, Fn: func(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x builtins.OneTensor
		if err := arg.Unpack(b.Name(), args, kwargs, "input", &x); err != nil {
			return nil, err
		}
		c, err := newAdaptiveCall(ModuleOf(b.Receiver()), thread, b.Name(), x.T)
		if err != nil {
			return nil, err
		}
		if err := c.checkInput(2); err != nil {
			return nil, err
		}
		y := do(c)
		if c.Err != nil {
			return nil, c.Err
		}
		return e.Wrap(y), nil
	}}
}

func newAdaptive(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		in, classes count
		list        starlark.Value
		div         = arg.Float(4)
		bias        arg.Bool
		dt          arg.OptDType
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "in_features", &in, "n_classes", &classes, "cutoffs", &list, "div_value?", &div, "head_bias?", &bias, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	cutoffs, err := arg.ToInts(list)
	if _, single := list.(starlark.Int); err != nil || single || !ascend(cutoffs, int(classes)) {
		return nil, &op.ArgError{Func: b.Name(), Param: "cutoffs", Got: arg.Show(list), Want: fmt.Sprintf("a list of ints from 1 to %d, of which each is greater than the last", int(classes)-1), Rule: "n_classes is " + fmt.Sprint(int(classes))}
	}
	if !(div > 0) || math.IsInf(float64(div), 0) {
		return nil, &op.ArgError{Func: b.Name(), Param: "div_value", Got: fmt.Sprint(float64(div)), Want: "a float above 0"}
	}
	ends := append(slices.Clone(cutoffs), int(classes))
	values := make([]starlark.Value, len(ends))
	for i, v := range ends {
		values[i] = starlark.MakeInt(v)
	}
	m := newModule(e, adaptiveClass)
	m.plain("in_features", starlark.MakeInt(int(in)), "n_classes", starlark.MakeInt(int(classes)), "cutoffs", starlark.NewList(values),
		"div_value", starlark.Float(div), "head_bias", starlark.Bool(bias), "shortlist_size", starlark.MakeInt(ends[0]),
		"n_clusters", starlark.MakeInt(len(cutoffs)), "head_size", starlark.MakeInt(ends[0]+len(cutoffs)))
	head, err := linear(e, b.Name(), int(in), ends[0]+len(cutoffs), bool(bias), dt)
	if err != nil {
		return nil, err
	}
	m.Put(Field{"head", ModuleField, head})
	tail := newList(e, ModuleListClass)
	for i := range cutoffs {
		between := int(math.Floor(float64(in) / libm.Pow(float64(div), float64(i+1))))
		first, err := linear(e, b.Name(), int(in), between, false, dt)
		if err != nil {
			return nil, err
		}
		last, err := linear(e, b.Name(), between, ends[i+1]-ends[i], false, dt)
		if err != nil {
			return nil, err
		}
		both := newList(e, SequentialClass)
		if err := both.addAll(b.Name(), []starlark.Value{first, last}); err != nil {
			return nil, err
		}
		if err := tail.addAll(b.Name(), []starlark.Value{both}); err != nil {
			return nil, err
		}
	}
	m.Put(Field{"tail", ModuleField, tail})
	return m, nil
}

// ascend reports whether list, which has elements, ascends between 0 and end.
func ascend(list []int, end int) bool {
	last := 0
	for _, v := range list {
		if v <= last || v >= end {
			return false
		}
		last = v
	}
	return len(list) > 0
}

// An adaptiveCall is a call of an AdaptiveLogSoftmaxWithLoss.
type adaptiveCall struct {
	builtins.OpChain
	m      *Module
	thread *starlark.Thread
	x      *tensor.Tensor
	ends   []int // where the classes of the head, and of each cluster, end
	tail   []starlark.Value
}

func newAdaptiveCall(m *Module, thread *starlark.Thread, fn string, x *tensor.Tensor) (*adaptiveCall, error) {
	c := &adaptiveCall{OpChain: builtins.OpChain{E: m.env, Fn: fn}, m: m, thread: thread, x: x}
	list := m.Get("cutoffs")
	ends, err := arg.ToInts(list)
	if err != nil || len(ends) == 0 {
		return nil, &op.ArgError{Func: fn + ".cutoffs", Got: arg.Show(list), Want: "a list of ints"}
	}
	tail, ok := m.Get("tail").(*listModule)
	if !ok || tail.Len() != len(ends)-1 {
		return nil, &op.ArgError{Func: fn + ".tail", Got: arg.Show(m.Get("tail")), Want: fmt.Sprintf("a list of %d modules", len(ends)-1), Rule: "one for each cluster"}
	}
	c.ends = ends
	for sub := range starlark.Elements(tail) {
		c.tail = append(c.tail, sub)
	}
	return c, nil
}

// checkInput returns an error unless the input is a float tensor of dims.
func (c *adaptiveCall) checkInput(dims int) error {
	want := map[int]string{1: "a float tensor [in_features]", 2: "a float tensor [n, in_features]"}[dims]
	if c.x.DType().IsFloat() && c.x.Ndim() == dims {
		return nil
	}
	return &op.ArgError{Func: c.Fn, Param: "input", Got: op.Describe(c.x), Want: want}
}

// logSoftmax returns the log_softmax of what the callable f makes of the input.
func (c *adaptiveCall) logSoftmax(f starlark.Value) *tensor.Tensor {
	fn, ok := f.(starlark.Callable)
	if !ok {
		c.Fail(&op.ArgError{Func: c.Fn, Got: arg.Show(f), Want: "a module or a function"})
	}
	if c.Err != nil {
		return nil
	}
	y, err := starlark.Call(c.thread, fn, starlark.Tuple{c.m.env.Wrap(c.x)}, nil)
	c.Fail(err)
	var x builtins.OneTensor
	if c.Err == nil {
		c.Fail(arg.Set(c.Fn, "", &x, y))
	}
	return c.Do("log_softmax", []*tensor.Tensor{x.T}, op.Int1(-1), op.None)
}

func (c *adaptiveCall) head() *tensor.Tensor { return c.logSoftmax(c.m.Get("head")) }

// logProb returns the logarithms of the probabilities of all classes, by those of the head.
func (c *adaptiveCall) logProb(head *tensor.Tensor) *tensor.Tensor {
	narrow := func(from, n int) *tensor.Tensor {
		return c.Do("narrow", []*tensor.Tensor{head}, op.Int1(-1), op.Int1(from), op.Int1(n))
	}
	list := []*tensor.Tensor{narrow(0, c.ends[0])}
	for i, f := range c.tail {
		list = append(list, c.Do("add", []*tensor.Tensor{c.logSoftmax(f), narrow(c.ends[0]+i, 1)}))
	}
	return c.Do("cat", list, op.Int1(-1))
}

// predict returns the classes of the greatest probability: that of the head, or where it is
// a cluster of the head, that of all.
func (c *adaptiveCall) predict() *tensor.Tensor {
	head := c.head()
	most := func(x *tensor.Tensor) *tensor.Tensor {
		return c.Do("argmax", []*tensor.Tensor{x}, op.Int1(-1), op.None)
	}
	first, all := most(head), most(c.logProb(head))
	cluster := c.Do("ge", []*tensor.Tensor{first, tensor.Number(int64(c.ends[0]))})
	return c.Do("where", []*tensor.Tensor{cluster, all, first})
}

// at returns the elements of x [n, ..] at indices [n].
func (c *adaptiveCall) at(x, indices *tensor.Tensor) *tensor.Tensor {
	y := c.Do("gather", []*tensor.Tensor{x, c.Do("unsqueeze", []*tensor.Tensor{indices}, op.Int1(-1))}, op.Int1(-1))
	return c.Do("squeeze", []*tensor.Tensor{y}, op.IntsN(-1))
}

// ofTargets returns the logarithms of the probabilities of targets [n]: that of the head's
// class, or of the cluster, to which that within the cluster is added.
func (c *adaptiveCall) ofTargets(target *tensor.Tensor) *tensor.Tensor {
	zero := tensor.Number(int64(0))
	beyond := make([]*tensor.Tensor, len(c.ends))          // of the targets behind each end
	negative := c.Do("lt", []*tensor.Tensor{target, zero}) // which gather would count from the end
	inHead := c.Do("where", []*tensor.Tensor{negative, tensor.Number(int64(c.ends[0] + len(c.tail))), target})
	for i, end := range c.ends {
		beyond[i] = c.Do("ge", []*tensor.Tensor{target, tensor.Number(int64(end))})
		inHead = c.Do("where", []*tensor.Tensor{beyond[i], tensor.Number(int64(c.ends[0] + i)), inHead})
	}
	y := c.at(c.head(), inHead)
	var bad *op.ArgError
	if errors.As(c.Err, &bad) && bad.Param == "index" { // of a class that is none
		c.Err = &op.ArgError{Func: c.Fn, Param: "target", Got: op.Describe(target), Want: fmt.Sprintf("classes from 0 to %d", c.ends[len(c.ends)-1]-1), Rule: "n_classes"}
	}
	for i, f := range c.tail {
		within := c.Do("xor", []*tensor.Tensor{beyond[i], beyond[i+1]})
		index := c.Do("where", []*tensor.Tensor{within, c.Do("sub", []*tensor.Tensor{target, tensor.Number(int64(c.ends[i]))}), zero})
		more := c.Do("where", []*tensor.Tensor{within, c.at(c.logSoftmax(f), index), tensor.Number(0.0)})
		y = c.Do("add", []*tensor.Tensor{y, more})
	}
	return y
}

func adaptiveForward(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, target builtins.OneTensor
	if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x, "target", &target); err != nil {
		return nil, err
	}
	c, err := newAdaptiveCall(m, thread, m.Class.Name, x.T)
	if err != nil {
		return nil, err
	}
	t := target.T
	if !t.DType().IsInt() || t.Ndim() > 1 {
		return nil, &op.ArgError{Func: c.Fn, Param: "target", Got: op.Describe(t), Want: "an integer tensor [n] or []"}
	}
	if err := c.checkInput(t.Ndim() + 1); err != nil {
		return nil, err
	}
	single := t.Ndim() == 0
	if single {
		c.x, t = c.Do("unsqueeze", []*tensor.Tensor{c.x}, op.Int1(0)), c.Do("unsqueeze", []*tensor.Tensor{t}, op.Int1(0))
	}
	if c.Err == nil && c.x.Shape()[0] != t.Shape()[0] {
		return nil, &op.ArgError{Func: c.Fn, Param: "target", Got: op.Describe(t), Want: fmt.Sprintf("%d targets", c.x.Shape()[0]), Rule: "as many as inputs"}
	}
	y := c.ofTargets(t)
	loss := c.Do("neg", []*tensor.Tensor{c.Do("mean", []*tensor.Tensor{y}, op.None, op.Bool1(false))})
	if single {
		y = c.Do("squeeze", []*tensor.Tensor{y}, op.IntsN(0))
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return starlark.Tuple{m.env.Wrap(y), m.env.Wrap(loss)}, nil
}
