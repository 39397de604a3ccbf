package nn

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
)

// The schedules, as PyTorch has them: what a step makes of the learning rate at
// hand, so that several of one optimiser multiply.

func given(name string, check func(v starlark.Value) error) scheduleParam {
	return scheduleParam{name, nil, check}
}

func float(name string, v float64) scheduleParam {
	return scheduleParam{name, starlark.Float(v), anyNumber}
}

func integer(name string, v int) scheduleParam {
	return scheduleParam{name, starlark.MakeInt(v), positiveInt}
}

var third = 1.0 / 3

var scheduleKinds = []*scheduleKind{
	{name: "StepLR", params: []scheduleParam{given("step_size", positiveInt), float("gamma", 0.1)},
		next: func(s *scheduleStep, _ int, rate float64) float64 {
			if s.step == 0 || s.step%s.int("step_size") != 0 {
				return rate
			}
			return rate * s.float("gamma")
		},
		doc: "StepLR(optimizer, step_size, gamma=0.1) returns a schedule that multiplies by gamma every step_size steps.\n" + scheduleExample("StepLR(opt, step_size=2)", "0.1")},
	{name: "MultiStepLR", params: []scheduleParam{given("milestones", ascendingInts), float("gamma", 0.1)},
		next: func(s *scheduleStep, _ int, rate float64) float64 {
			list, _ := arg.ToInts(s.args["milestones"])
			for _, at := range list {
				if s.step > 0 && at == s.step {
					rate *= s.float("gamma")
				}
			}
			return rate
		},
		doc: "MultiStepLR(optimizer, milestones, gamma=0.1) returns a schedule that multiplies by gamma at given steps.\n" + scheduleExample("MultiStepLR(opt, [2, 5], gamma=0.5)", "0.5")},
	{name: "ConstantLR", params: []scheduleParam{float("factor", third), integer("total_iters", 5)},
		next: func(s *scheduleStep, _ int, rate float64) float64 {
			switch s.step {
			case 0:
				return rate * s.float("factor")
			case s.int("total_iters"):
				return rate / s.float("factor")
			}
			return rate
		},
		doc: "ConstantLR(optimizer, factor=1/3, total_iters=5) returns a schedule that multiplies by factor for the first steps.\n" + scheduleExample("ConstantLR(opt, factor=0.5)", "0.5")},
	{name: "LinearLR", params: []scheduleParam{float("start_factor", third), float("end_factor", 1), integer("total_iters", 5)},
		next: func(s *scheduleStep, _ int, rate float64) float64 {
			from, to, n := s.float("start_factor"), s.float("end_factor"), float64(s.int("total_iters"))
			switch t := float64(s.step); {
			case t == 0:
				return rate * from
			case t > n:
				return rate
			default:
				return rate * (1 + (to-from)/(float64(n*from)+float64((t-1)*(to-from))))
			}
		},
		doc: "LinearLR(optimizer, start_factor=1/3, end_factor=1.0, total_iters=5) returns a schedule that goes from one factor to another in a line.\n" + scheduleExample("LinearLR(opt, start_factor=0.5, total_iters=4)", "0.75")},
	{name: "ExponentialLR", params: []scheduleParam{given("gamma", anyNumber)},
		next: func(s *scheduleStep, _ int, rate float64) float64 {
			if s.step == 0 {
				return rate
			}
			return rate * s.float("gamma")
		},
		doc: "ExponentialLR(optimizer, gamma) returns a schedule that multiplies by gamma at each step.\n" + scheduleExample("ExponentialLR(opt, 0.5)", "0.25")},
	{name: "PolynomialLR", params: []scheduleParam{integer("total_iters", 5), float("power", 1)},
		next: func(s *scheduleStep, _ int, rate float64) float64 {
			t, n := float64(s.step), float64(s.int("total_iters"))
			if t == 0 || t > n {
				return rate
			}
			return rate * libm.Pow((1-t/n)/(1-(t-1)/n), s.float("power"))
		},
		doc: "PolynomialLR(optimizer, total_iters=5, power=1.0) returns a schedule of (1 - step / total_iters) to a power.\n" + scheduleExample("PolynomialLR(opt, total_iters=4, power=2)", "0.25")},
	{name: "CosineAnnealingLR", params: []scheduleParam{given("T_max", positiveInt), float("eta_min", 0)},
		next: func(s *scheduleStep, i int, rate float64) float64 {
			t, n, least := s.step, s.int("T_max"), s.float("eta_min")
			turn := func(t int) float64 { return 1 + libm.Cos(math.Pi*float64(t)/float64(n)) }
			switch {
			case t == 0:
				return rate
			case (t-1)%n == 0 && (t-1)/n%2 == 1: // at the end of a half wave down
				return rate + float64((s.base[i]-least)*(1-libm.Cos(math.Pi/float64(n)))/2)
			}
			return float64(turn(t)/turn(t-1)*(rate-least)) + least
		},
		doc: "CosineAnnealingLR(optimizer, T_max, eta_min=0.0) returns a schedule that goes to eta_min and back in half waves of T_max steps.\nLoshchilov and Hutter, \"SGDR\", ICLR 2017, without restarts.\n" + scheduleExample("CosineAnnealingLR(opt, T_max=2)", "0.0")},
	{name: "CosineAnnealingWarmRestarts", params: []scheduleParam{given("T_0", positiveInt), integer("T_mult", 1), float("eta_min", 0)},
		next: func(s *scheduleStep, i int, _ float64) float64 {
			t, n, times := s.step, s.int("T_0"), s.int("T_mult")
			if times == 1 {
				t %= n
			}
			for t >= n {
				t, n = t-n, min(n, math.MaxInt/times)*times // which does not overflow
			}
			least := s.float("eta_min")
			return least + float64((s.base[i]-least)*(1+libm.Cos(math.Pi*float64(t)/float64(n)))/2)
		},
		doc: "CosineAnnealingWarmRestarts(optimizer, T_0, T_mult=1, eta_min=0.0) returns a schedule that goes to eta_min in half a wave of T_0 steps, then begins again with T_mult times as many.\n" + scheduleExample("CosineAnnealingWarmRestarts(opt, T_0=2)", "1.0")},
	{name: "LambdaLR", params: []scheduleParam{given("lr_lambda", nil)}, check: functionsOfGroups("lr_lambda"),
		next: func(s *scheduleStep, i int, _ float64) float64 { return s.base[i] * s.asked("lr_lambda", i) },
		doc:  "LambdaLR(optimizer, lr_lambda) returns a schedule that multiplies the first learning rate by lr_lambda(step).\nlr_lambda is a function, or a list of one for each group.\n" + scheduleExample("LambdaLR(opt, lambda step: 1 / (1 + step))", "0.3333333333333333")},
	{name: "MultiplicativeLR", params: []scheduleParam{given("lr_lambda", nil)}, check: functionsOfGroups("lr_lambda"),
		next: func(s *scheduleStep, i int, rate float64) float64 {
			if s.step == 0 {
				return rate
			}
			return rate * s.asked("lr_lambda", i)
		},
		doc: "MultiplicativeLR(optimizer, lr_lambda) returns a schedule that multiplies the learning rate by lr_lambda(step) at each step.\nlr_lambda is a function, or a list of one for each group.\n" + scheduleExample("MultiplicativeLR(opt, lambda step: 0.5)", "0.25")},
	oneCycleKind, cyclicKind, sequentialKind, chainedKind, plateauKind,
}

// scheduleExample returns an example of two steps after which the learning rate,
// 1 before, is as given.
func scheduleExample(call, rate string) string {
	return ">>> opt = optim.SGD([zeros(1, requires_grad=True)], lr=1.0)\n>>> s = optim.lr_scheduler." + call + "\n>>> s.step()\n>>> s.step()\n>>> opt.lr\n" + rate
}

func init() {
	for _, k := range scheduleKinds {
		builtins.Register(&builtins.Row{Name: "optim.lr_scheduler." + k.name, Fn: newSchedule(k), MakeDoc: func() string {
			if k.next == nil {
				return k.doc
			}
			return strings.Replace(k.doc, ") returns", ", last_epoch=-1) returns", 1)
		}})
	}
}

// ascendingInts checks a list of steps.
func ascendingInts(v starlark.Value) error {
	list, err := arg.ToInts(v)
	if err != nil || !sort.IntsAreSorted(list) {
		return arg.Bad(v, "a list of ints, none less than the one before", "")
	}
	return nil
}

// functionsOfGroups returns a check of an argument that is a function, or one for
// each group.
func functionsOfGroups(name string) func(s *Schedule, fn string) error {
	return func(s *Schedule, fn string) error {
		v := s.args[name]
		var list arg.List
		if _, ok := v.(starlark.Callable); ok {
			for range s.o.groups {
				list = append(list, v)
			}
		} else if list.Unpack(v) != nil || len(list) != len(s.o.groups) {
			return arg.In(fn, name, arg.Bad(v, "a function, or one for each group", ""))
		}
		for i, f := range list {
			if _, ok := f.(starlark.Callable); !ok {
				return arg.In(fn, name, arg.BadItem(f, i, "a function"))
			}
		}
		s.args[name] = starlark.Tuple(list)
		return nil
	}
}

// asked returns what the function for group i returns for the step.
func (s *scheduleStep) asked(name string, i int) float64 {
	return s.returned(name, s.args[name].(starlark.Tuple)[i], starlark.MakeInt(s.step))
}

// returned returns what f, the argument called name, returns for n.
func (s *scheduleStep) returned(name string, f, n starlark.Value) float64 {
	v, err := starlark.Call(s.thread, f, starlark.Tuple{n}, nil)
	if err != nil {
		s.err = err
		return 0
	}
	y, ok := starlark.AsFloat(v)
	if !ok {
		s.err = &op.ArgError{Func: s.kind.name, Param: name, Got: arg.Show(v) + " returned", Want: "a number"}
	}
	return y
}

var sequentialKind = &scheduleKind{name: "SequentialLR", params: []scheduleParam{given("schedulers", nil), given("milestones", ascendingInts)},
	check: func(s *Schedule, fn string) error {
		if err := s.setParts(fn, "schedulers"); err != nil {
			return err
		}
		if list, _ := arg.ToInts(s.args["milestones"]); len(list) != len(s.parts)-1 {
			return &op.ArgError{Func: fn, Param: "milestones", Got: fmt.Sprintf("%d steps", len(list)), Want: fmt.Sprint(len(s.parts) - 1), Rule: "one less than there are schedulers"}
		}
		for i, rate := range s.base {
			if err := s.set(i, rate); err != nil {
				return err
			}
		}
		if err := s.parts[0].restart(nil); err != nil {
			return err
		}
		s.last = s.rates()
		return nil
	},
	advance: func(s *Schedule, _ float64, thread *starlark.Thread) error {
		s.step++
		list, _ := arg.ToInts(s.args["milestones"])
		at := sort.SearchInts(list, s.step+1) // how many milestones are behind
		part := s.parts[at]
		step := func() error { return part.advance(math.NaN(), thread) }
		if at > 0 && list[at-1] == s.step {
			step = func() error { return part.restart(thread) }
		}
		if err := step(); err != nil {
			return err
		}
		s.last = s.rates()
		return nil
	},
	doc: "SequentialLR(optimizer, schedulers, milestones) returns a schedule that is one of a list after another: the next from each of the milestones on.\n" +
		">>> opt = optim.SGD([zeros(1, requires_grad=True)], lr=1.0)\n>>> warm = optim.lr_scheduler.LinearLR(opt, 0.5, total_iters=2)\n>>> then = optim.lr_scheduler.ExponentialLR(opt, 0.5)\n" +
		">>> s = optim.lr_scheduler.SequentialLR(opt, [warm, then], [2])\n>>> rates = []\n>>> for i in range(4):\n...     rates.append(opt.lr)\n...     s.step()\n>>> rates\n[0.5, 0.75, 1.0, 0.5]"}

var chainedKind = &scheduleKind{name: "ChainedScheduler", order: optimizerOfParts, params: []scheduleParam{given("schedulers", nil)},
	check: func(s *Schedule, fn string) error {
		if err := s.setParts(fn, "schedulers"); err != nil {
			return err
		}
		s.last = s.rates()
		return nil
	},
	advance: func(s *Schedule, _ float64, thread *starlark.Thread) error {
		s.step++
		for _, p := range s.parts {
			if err := p.advance(math.NaN(), thread); err != nil {
				return err
			}
		}
		s.last = s.rates()
		return nil
	},
	doc: "ChainedScheduler(schedulers, optimizer=None) returns a schedule that makes the steps of several together, which are of one optimiser. That may also come first.\n" +
		">>> opt = optim.SGD([zeros(1, requires_grad=True)], lr=1.0)\n>>> parts = [optim.lr_scheduler.ExponentialLR(opt, g) for g in [0.5, 0.25]]\n>>> s = optim.lr_scheduler.ChainedScheduler(parts)\n>>> s.step()\n>>> opt.lr\n0.125"}

// optimizerOfParts gives a ChainedScheduler, which may be made of its parts alone, the
// optimiser of the first, and the arguments the order of the other schedules.
func optimizerOfParts(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, []starlark.Tuple) {
	var parts, o starlark.Value
	for i, v := range args {
		if _, ok := v.(*Optimizer); ok && i < 2 {
			o = v
		} else if i < 2 && parts == nil {
			parts = v
		} else if v != starlark.None {
			return args, kwargs
		}
	}
	rest := []starlark.Tuple{}
	for _, kw := range kwargs {
		switch name := kw[0].(starlark.String); {
		case name == "schedulers" && parts == nil:
			parts = kw[1]
		case name == "optimizer" && o == nil:
			o = kw[1]
		default:
			rest = append(rest, kw)
		}
	}
	if list := (arg.List{}); (o == nil || o == starlark.None) && parts != nil && list.Unpack(parts) == nil && len(list) > 0 {
		if first, ok := list[0].(*Schedule); ok {
			o = first.o
		}
	}
	if o == nil || parts == nil {
		return args, kwargs
	}
	return starlark.Tuple{o, parts}, rest
}

// setParts takes over the schedules of an argument, which are of one optimiser.
func (s *Schedule) setParts(fn, name string) error {
	var list arg.List
	if list.Unpack(s.args[name]) != nil || len(list) == 0 {
		return arg.In(fn, name, arg.Bad(s.args[name], "a list of schedules", ""))
	}
	for i, v := range list {
		p, ok := v.(*Schedule)
		if !ok || p.o != s.o || p.kind == plateauKind {
			return arg.In(fn, name, arg.BadItem(v, i, "a schedule of the optimiser, no ReduceLROnPlateau"))
		}
		s.parts = append(s.parts, p)
	}
	return nil
}
