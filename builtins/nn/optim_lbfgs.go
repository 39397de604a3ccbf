package nn

import (
	"fmt"
	"math"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	r := &optimRule{
		name: "LBFGS", buffers: func(*group) []string { return nil }, whole: stepLBFGS,
		all: []string{"last_step", "prev_flat_grad"}, numbered: []string{"old_dirs_", "old_stps_"},
		hyper: []*hyper{num("lr", 1), {name: "max_iter", value: starlark.MakeInt(20), check: positiveInt}, {name: "max_eval", value: starlark.None, check: positiveOrNone},
			num("tolerance_grad", 1e-7), num("tolerance_change", 1e-9), {name: "history_size", value: starlark.MakeInt(100), check: positiveInt}, {name: "line_search_fn", value: starlark.None, check: lineSearch}},
	}
	registerRule(r, "LBFGS(params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100, line_search_fn=None) returns an optimiser by curvature: step(closure) goes down up to max_iter times.\n"+
		docParams+"There is one\ngroup. closure forgets the gradients, computes the loss, calls backward and returns the loss;\n"+
		"step calls it up to max_eval times, 5/4 max_iter if None, and returns what it returned first.\n"+
		"With line_search_fn=\"strong_wolfe\" lr is where the search of a step's length begins.\n",
		">>> w = tensor([3.0, -2.0], requires_grad=True)\n"+
			">>> opt = optim.LBFGS([w], line_search_fn=\"strong_wolfe\")\n"+
			">>> def closure():\n...     opt.zero_grad()\n...     loss = (w * w).sum()\n...     loss.backward()\n...     return loss\n"+
			">>> opt.step(closure).item()\n13.0\n>>> w.abs().max().item() < 1e-3\nTrue")
}

// A vector is what LBFGS has of all parameters together: a tensor for each.
type vector []*tensor.Tensor

// An lbfgs is one step of LBFGS.
//
// Liu and Nocedal, "On the limited memory BFGS method for large scale
// optimization", 1989; the line search is Nocedal and Wright's, algorithms 3.5 and
// 3.6, as PyTorch has them.
type lbfgs struct {
	builtins.OpChain
	o       *Optimizer
	g       *group
	thread  *starlark.Thread
	closure starlark.Callable
	params  []*builtins.Tensor
	p       vector
	over    [][]*runtime.Group // by parameter: those whose ranks have parts of its gradient
	evals   int
}

func stepLBFGS(o *Optimizer, thread *starlark.Thread, fn string, closure starlark.Callable) (starlark.Value, error) {
	if err := o.mayChange(fn); err != nil {
		return nil, err
	}
	if len(o.groups) != 1 {
		return nil, &op.ArgError{Func: fn, Param: "params", Got: units.Count(len(o.groups), "group"), Want: "one group"}
	}
	g, params, err := o.ready(fn, o.groups[0])
	if err != nil {
		return nil, err
	}
	l := &lbfgs{OpChain: builtins.OpChain{E: o.env, Fn: fn}, o: o, g: g, thread: thread, closure: closure}
	for _, x := range params {
		t, err := Leaf(x)
		if err == nil {
			err = builtins.CheckFrozen(fn, t)
		}
		if err != nil {
			return nil, err
		}
		if t.RequiresGrad() {
			l.params, l.p = append(l.params, x), append(l.p, t)
		}
	}
	l.over = make([][]*runtime.Group, len(l.p))
	defer o.env.Runtime.Tape.SetEnabled(false)()
	first, err := l.call()
	if err != nil || len(l.p) == 0 {
		return first, err
	}
	l.minimize(l.number(first))
	return first, l.Err
}

// call returns what the closure does.
func (l *lbfgs) call() (starlark.Value, error) {
	l.evals++
	return l.o.evaluate(l.thread, l.closure)
}

// number returns the loss v as a float, NaN in a plan.
func (l *lbfgs) number(v starlark.Value) float64 {
	x, ok := v.(*builtins.Tensor)
	if !ok {
		f, ok := starlark.AsFloat(v)
		if !ok {
			l.Fail(&op.ArgError{Func: l.Fn, Param: "closure", Got: arg.Show(v) + " returned", Want: "the loss, a tensor of one element"})
		}
		return l.signed(f)
	}
	t, err := x.Tensor()
	if err == nil && t.Numel() != 1 {
		err = &op.ArgError{Func: l.Fn, Param: "closure", Got: op.Describe(t) + " returned", Want: "the loss, a tensor of one element"}
	}
	l.Fail(err)
	return l.signed(l.element(t))
}

// signed returns a loss, or what to go down with maximize.
func (l *lbfgs) signed(loss float64) float64 {
	if l.g.on("maximize") {
		return -loss
	}
	return loss
}

// element returns the element of t, NaN in a plan.
func (l *lbfgs) element(t *tensor.Tensor) float64 {
	if l.Err != nil {
		return 0
	}
	t, err := l.E.Whole(l.Fn, t)
	l.Fail(err)
	if err != nil || t.Hollow() {
		return math.NaN()
	}
	return op.Float64At(t, 0)
}

// gradient returns the gradients of the parameters, zeros where there is none.
func (l *lbfgs) gradient() vector {
	v := make(vector, len(l.p))
	for i, p := range l.p {
		if p.Auto.Grad != nil && l.Err == nil {
			var err error
			l.over[i], err = storeOf(l.params[i]).GradGroups(l.params[i], p)
			l.Fail(err)
		}
		switch g := p.Auto.Grad; {
		case g == nil:
			v[i] = l.Do("zeros_like", []*tensor.Tensor{p}, op.None)
		case l.g.on("maximize"):
			v[i] = l.Do("neg", []*tensor.Tensor{g})
		default:
			v[i] = l.Do("clone", []*tensor.Tensor{g})
		}
	}
	return v
}

// plus returns x + a y.
func (l *lbfgs) plus(x, y vector, a float64) vector {
	z := make(vector, len(x))
	for i := range x {
		z[i] = l.Do("combine", []*tensor.Tensor{x[i], y[i]}, op.Float1(1), op.Float1(a))
	}
	return z
}

// times returns a x.
func (l *lbfgs) times(x vector, a float64) vector {
	z := make(vector, len(x))
	for i := range x {
		z[i] = l.Do("mul", []*tensor.Tensor{x[i], tensor.Number(a)})
	}
	return z
}

// dot returns the product of x and y.
func (l *lbfgs) dot(x, y vector) float64 {
	terms := make(vector, len(x))
	for i := range x {
		terms[i] = l.Do("sum", []*tensor.Tensor{l.Do("mul", []*tensor.Tensor{x[i], y[i]})}, op.None, op.Bool1(false))
	}
	return l.added(terms)
}

// greatest returns the greatest absolute value in x, total their sum.
func (l *lbfgs) greatest(x vector) float64 {
	ends := make(vector, len(x))
	for i := range x {
		if x[i] != nil && x[i].Numel() == 0 {
			ends[i] = l.Do("zeros", nil, op.IntsN(), op.Int1(int(x[i].DType())))
		} else {
			ends[i] = l.Do("max", []*tensor.Tensor{l.Do("abs", []*tensor.Tensor{x[i]})}, op.None, op.Bool1(false))
		}
	}
	most := 0.0
	for _, v := range l.ofWholes(ends, "max") {
		most = math.Max(most, v)
	}
	return most
}

func (l *lbfgs) total(x vector) float64 {
	terms := make(vector, len(x))
	for i := range x {
		terms[i] = l.Do("sum", []*tensor.Tensor{l.Do("abs", []*tensor.Tensor{x[i]})}, op.None, op.Bool1(false))
	}
	return l.added(terms)
}

// added returns the sum of terms, one of each parameter.
func (l *lbfgs) added(terms vector) float64 {
	sum := 0.0
	for _, v := range l.ofWholes(terms, "sum") {
		sum += v
	}
	return sum
}

// ofWholes returns t, a number of each parameter, for the whole of it: of one that ranks have parts of theirs are reduced,
// those of all parameters that lie over the same ranks together.
func (l *lbfgs) ofWholes(t vector, reduce string) []float64 {
	list := make([]float64, len(t))
	done := make([]bool, len(t))
	for i := range t {
		if len(l.over[i]) == 0 {
			list[i] = l.element(t[i])
		}
		if l.Err != nil || len(l.over[i]) == 0 || done[i] {
			continue
		}
		var alike []int
		var row vector
		for j := i; j < len(t); j++ {
			if slices.Equal(l.over[j], l.over[i]) && t[j].DType() == t[i].DType() {
				alike, row, done[j] = append(alike, j), append(row, t[j]), true
			}
		}
		all := l.Do("stack", row, op.Int1(0))
		for _, g := range l.over[i] {
			if l.Err == nil {
				var err error
				all, err = l.E.Runtime.Run(g, runtime.Collective{Op: "all_reduce", Reduce: reduce}, all)
				l.Fail(err)
			}
		}
		for k, j := range alike {
			if l.Err == nil && !all.Hollow() {
				list[j] = op.Float64At(all, k)
			} else {
				list[j] = math.NaN()
			}
		}
	}
	return list
}

// move adds a d to the parameters.
func (l *lbfgs) move(d vector, a float64) {
	for i, p := range l.p {
		l.Do("combine_", []*tensor.Tensor{p, d[i]}, op.Float1(1), op.Float1(a))
	}
}

// kept returns what the optimiser keeps under name, or nil; keep keeps v there, and
// nil takes it away.
func (l *lbfgs) kept(name string) vector {
	v := make(vector, len(l.params))
	for i, x := range l.params {
		b := l.o.state[x].buffers[name]
		if b == nil {
			return nil
		}
		t, err := b.Tensor()
		l.Fail(err)
		v[i] = t
	}
	return v
}

func (l *lbfgs) keep(name string, v vector) {
	for i, x := range l.params {
		if v == nil {
			delete(l.o.state[x].buffers, name)
			continue
		}
		l.o.state[x].buffers[name] = l.E.Wrap(v[i])
	}
}

// history returns the differences of gradients and of parameters that are kept,
// the oldest first: the last of them, where history_size has been made less.
func (l *lbfgs) history() (dirs, steps []vector) {
	for {
		y, s := l.kept(oldDirs(len(dirs))), l.kept(oldSteps(len(dirs)))
		if y == nil || s == nil || l.Err != nil {
			over := max(0, len(dirs)-l.int("history_size", 100))
			return dirs[over:], steps[over:]
		}
		dirs, steps = append(dirs, y), append(steps, s)
	}
}

// keepHistory keeps them in place of those that were.
func (l *lbfgs) keepHistory(dirs, steps []vector) {
	for i := range dirs {
		l.keep(oldDirs(i), dirs[i])
		l.keep(oldSteps(i), steps[i])
	}
	for i := len(dirs); l.kept(oldDirs(i)) != nil; i++ {
		l.keep(oldDirs(i), nil)
		l.keep(oldSteps(i), nil)
	}
}

// oldDirs and oldSteps are under what names differences are kept.
func oldDirs(i int) string  { return fmt.Sprintf("old_dirs_%d", i) }
func oldSteps(i int) string { return fmt.Sprintf("old_stps_%d", i) }

// int returns a hyperparameter that is an int; of None, def.
func (l *lbfgs) int(name string, def int) int {
	n, err := arg.ToInt(l.g.get(name))
	if err != nil {
		return def
	}
	return n
}

// minimize goes down from a point whose loss is given, and whose gradients are in
// the parameters.
func (l *lbfgs) minimize(loss float64) {
	most := l.int("max_iter", 20)
	evals := l.int("max_eval", most*5/4)
	least, change := l.g.float("tolerance_grad"), l.g.float("tolerance_change")
	search := l.g.get("line_search_fn") != starlark.None
	g := l.gradient()
	if l.greatest(g) <= least {
		return
	}
	dirs, steps := l.history()
	for n := 1; n <= most && l.Err == nil; n++ {
		d := l.direction(g, &dirs, &steps)
		before, t := loss, l.g.float("lr")
		if l.o.state[l.params[0]].steps == 1 {
			t *= math.Min(1, 1/l.total(g))
		}
		slope := l.dot(g, d)
		l.keep("prev_flat_grad", g)
		if slope > -change {
			l.keep("last_step", l.times(d, t))
			break
		}
		if search {
			loss, g, t = l.search(t, d, loss, g, slope, evals-l.evals)
			l.move(d, t)
		} else if l.move(d, t); n != most && l.Err == nil {
			v, err := l.call()
			l.Fail(err)
			if l.Err == nil {
				loss, g = l.number(v), l.gradient()
			}
		}
		step := l.times(d, t)
		l.keep("last_step", step)
		if n == most || l.evals >= evals || l.greatest(g) <= least || l.greatest(step) <= change || math.Abs(loss-before) < change {
			break
		}
	}
	l.keepHistory(dirs, steps)
}

// direction returns where to go down with the gradient g, and takes the last step
// into the history.
func (l *lbfgs) direction(g vector, dirs, steps *[]vector) vector {
	for _, x := range l.params {
		l.o.state[x].steps++
	}
	last, was := l.kept("last_step"), l.kept("prev_flat_grad")
	if last == nil || was == nil {
		return l.times(g, -1)
	}
	y := l.plus(g, was, -1)
	if ys := l.dot(y, last); ys > 1e-10 {
		if len(*dirs) == l.int("history_size", 100) {
			*dirs, *steps = (*dirs)[1:], (*steps)[1:]
		}
		*dirs, *steps = append(*dirs, y), append(*steps, last)
	}
	n := len(*dirs)
	inverse, share := make([]float64, n), make([]float64, n)
	q := l.times(g, -1)
	for i := n - 1; i >= 0; i-- {
		inverse[i] = 1 / l.dot((*dirs)[i], (*steps)[i])
		share[i] = l.dot((*steps)[i], q) * inverse[i]
		q = l.plus(q, (*dirs)[i], -share[i])
	}
	if n > 0 {
		q = l.times(q, 1/inverse[n-1]/l.dot((*dirs)[n-1], (*dirs)[n-1]))
	}
	for i := range n {
		q = l.plus(q, (*steps)[i], share[i]-float64(l.dot((*dirs)[i], q)*inverse[i]))
	}
	return q
}

// positiveInt checks an int from 1 on.
func positiveInt(v starlark.Value) error {
	n, err := arg.ToInt(v)
	if i, ok := v.(starlark.Int); ok && err != nil && i.Sign() > 0 {
		return err // of one that is too large
	}
	if err != nil || n < 1 {
		return arg.Bad(v, "a positive int", "")
	}
	return nil
}

func positiveOrNone(v starlark.Value) error {
	if v == starlark.None {
		return nil
	}
	return positiveInt(v)
}

// lineSearch checks the name of a line search.
func lineSearch(v starlark.Value) error {
	if v != starlark.None && v != starlark.String("strong_wolfe") {
		return arg.Bad(v, `None or "strong_wolfe"`, "")
	}
	return nil
}
