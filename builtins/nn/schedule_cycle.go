package nn

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
)

// oneCycleKind is Smith and Topin, "Super-convergence", 2018: up to max_lr, and
// down to next to nothing, with the momentum the other way.
var oneCycleKind = &scheduleKind{name: "OneCycleLR",
	params: []scheduleParam{given("max_lr", nil), {"total_steps", starlark.None, positiveOrNone}, {"epochs", starlark.None, positiveOrNone}, {"steps_per_epoch", starlark.None, positiveOrNone},
		{"pct_start", starlark.Float(0.3), share}, {"anneal_strategy", starlark.String("cos"), annealing}, {"cycle_momentum", starlark.True, trueOrFalse},
		float("base_momentum", 0.85), float("max_momentum", 0.95), float("div_factor", 25), float("final_div_factor", 1e4), {"three_phase", starlark.False, trueOrFalse}},
	check: checkOneCycle,
	next:  oneCycleRate,
	doc: "OneCycleLR(optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy=\"cos\", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False) returns a schedule that goes from max_lr / div_factor up to max_lr, and then down.\n" +
		"max_lr is a number or one for each group. There are total_steps, or epochs of steps_per_epoch;\n" +
		"a part pct_start of them goes up. With cycle_momentum the momentum, or the first of betas, goes\n" +
		"from max_momentum to base_momentum and back.\n" +
		">>> opt = optim.SGD([zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)\n>>> s = optim.lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=10)\n>>> s.step()\n>>> s.step()\n>>> opt.lr, opt.param_groups[0][\"momentum\"]\n(1.0, 0.85)"}

// share checks a part of a whole.
func share(v starlark.Value) error { return new(probability).Unpack(v) }

// annealing checks the name of a curve.
func annealing(v starlark.Value) error {
	if v != starlark.String("cos") && v != starlark.String("linear") {
		return arg.Bad(v, `"cos" or "linear"`, "")
	}
	return nil
}

// checkOneCycle settles how many steps there are, and begins the cycle.
func checkOneCycle(s *Schedule, fn string) error {
	if s.args["total_steps"] == starlark.None {
		if s.args["epochs"] == starlark.None || s.args["steps_per_epoch"] == starlark.None {
			return &op.ArgError{Func: fn, Param: "total_steps", Got: "None", Want: "an int", Rule: "or both epochs and steps_per_epoch"}
		}
		s.args["total_steps"] = starlark.MakeInt(s.int("epochs") * s.int("steps_per_epoch"))
	}
	most, err := s.perGroup(fn, "max_lr")
	if err != nil {
		return err
	}
	for i, f := range most {
		s.base[i] = f / s.float("div_factor")
	}
	if s.args["cycle_momentum"] == starlark.True && momentumName(s.o) == "" {
		return &op.ArgError{Func: fn, Param: "cycle_momentum", Got: "True", Want: "False", Rule: s.o.rule.name + " has neither momentum nor betas"}
	}
	return nil
}

// momentumName returns under what an optimiser has a momentum, or "".
func momentumName(o *Optimizer) string {
	for _, h := range o.rule.hyper {
		if h.name == "momentum" || h.name == "betas" {
			return h.name
		}
	}
	return ""
}

// A phase is a part of a cycle: to which step it goes, and between what.
type phase struct{ end, from, to, momentum, toMomentum float64 }

func oneCycleRate(s *scheduleStep, i int, _ float64) float64 {
	n, up := float64(s.int("total_steps")), s.float("pct_start")
	if float64(s.step) > n {
		s.err = &op.ArgError{Func: "step", Got: fmt.Sprintf("step %d", s.step), Want: fmt.Sprintf("at most %v", n), Rule: "total_steps of the OneCycleLR"}
		return 0
	}
	least, first := s.base[i]/s.float("final_div_factor"), s.base[i]
	most, _ := starlark.AsFloat(s.args["max_lr"].(starlark.Tuple)[i])
	heavy, light := s.float("max_momentum"), s.float("base_momentum")
	phases := []phase{{float64(up*n) - 1, first, most, heavy, light}, {n - 1, most, least, light, heavy}}
	if s.args["three_phase"] == starlark.True {
		phases = []phase{phases[0], {float64(2*up*n) - 2, most, first, light, heavy}, {n - 1, first, least, heavy, heavy}}
	}
	t, begin, p := float64(s.step), 0.0, phase{}
	for k := range phases {
		if p = phases[k]; t <= p.end || k == len(phases)-1 {
			break
		}
		begin = p.end
	}
	done := (t - begin) / (p.end - begin)
	curve := func(from, to float64) float64 {
		if s.args["anneal_strategy"] == starlark.String("linear") {
			return float64((to-from)*done) + from
		}
		return to + float64((from-to)/2*(libm.Cos(math.Pi*done)+1))
	}
	if s.args["cycle_momentum"] == starlark.True {
		s.setMomentum(i, curve(p.momentum, p.toMomentum))
	}
	return curve(p.from, p.to)
}

// setMomentum gives group i a momentum.
func (s *scheduleStep) setMomentum(i int, m float64) {
	name, d := momentumName(s.o), s.o.groups[i]
	var v starlark.Value = starlark.Float(m)
	if name == "betas" {
		var pair arg.List
		if err := pair.Unpack(valueAt(d, name)); err != nil || len(pair) != 2 {
			s.err = arg.In("step", name, arg.Bad(valueAt(d, name), "a pair of numbers", ""))
			return
		}
		v = starlark.Tuple{v, pair[1]}
	}
	if err := d.SetKey(starlark.String(name), v); err != nil {
		s.err = err
	}
}

// plateauKind waits for a number that no longer gets better.
var plateauKind = &scheduleKind{name: "ReduceLROnPlateau"}

func init() {
	k := plateauKind
	k.params = []scheduleParam{{"mode", starlark.String("min"), oneOf("min", "max")}, {"factor", starlark.Float(0.1), anyNumber}, {"patience", starlark.MakeInt(10), natural}, {"threshold", starlark.Float(1e-4), anyNumber},
		{"threshold_mode", starlark.String("rel"), oneOf("rel", "abs")}, {"cooldown", nought, natural}, {"min_lr", starlark.Float(0), nil}, {"eps", starlark.Float(1e-8), anyNumber}}
	k.check = func(s *Schedule, fn string) error {
		if f := s.float("factor"); f >= 1 {
			return arg.In(fn, "factor", arg.Bad(s.args["factor"], "a number less than 1", ""))
		}
		if s.best = math.Inf(1); s.args["mode"] == starlark.String("max") {
			s.best = math.Inf(-1)
		}
		_, err := s.perGroup(fn, "min_lr")
		return err
	}
	k.doc = plateauDoc
	k.advance = func(s *Schedule, metric float64, _ *starlark.Thread) error { return s.onPlateau(metric) }
}

const plateauDoc = "ReduceLROnPlateau(optimizer, mode=\"min\", factor=0.1, patience=10, threshold=1e-4, threshold_mode=\"rel\", cooldown=0, min_lr=0.0, eps=1e-8) returns a schedule that multiplies by factor when step(metrics) has brought nothing better for more than patience steps.\n" +
	"Better is less, or with mode=\"max\" more, by a part threshold of the best so far, or with\n" +
	"threshold_mode=\"abs\" by threshold. After that cooldown steps do not count. min_lr may be one for each group.\n" +
	">>> opt = optim.SGD([zeros(1, requires_grad=True)], lr=1.0)\n>>> s = optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)\n>>> for loss in [1.0, 1.0, 1.0]:\n...     s.step(loss)\n>>> opt.lr\n0.1"

// natural checks an int from 0 on.
func natural(v starlark.Value) error { return new(count).Unpack(v) }

// oneOf returns a check of one of two names.
func oneOf(a, b string) func(v starlark.Value) error {
	return func(v starlark.Value) error {
		if v != starlark.String(a) && v != starlark.String(b) {
			return arg.Bad(v, fmt.Sprintf("%q or %q", a, b), "")
		}
		return nil
	}
}

// better reports whether a metric is better than the best so far.
func (s *Schedule) better(metric float64) bool {
	by, least := s.float("threshold"), s.args["mode"] == starlark.String("min")
	if s.args["threshold_mode"] == starlark.String("rel") {
		by = math.Abs(by)
		if least {
			return metric < s.best*(1-by)
		}
		return metric > s.best*(1+by)
	}
	if least {
		return metric < s.best-by
	}
	return metric > s.best+by
}

// onPlateau is a step of a ReduceLROnPlateau.
func (s *Schedule) onPlateau(metric float64) error {
	s.step++
	if s.bad++; s.better(metric) {
		s.best, s.bad = metric, 0
	}
	if s.cool > 0 {
		s.cool, s.bad = s.cool-1, 0
	}
	if s.bad > s.int("patience") {
		for i, rate := range s.rates()[:len(s.base)] {
			least, _ := starlark.AsFloat(s.args["min_lr"].(starlark.Tuple)[i])
			next := math.Max(rate*s.float("factor"), least)
			if rate-next > s.float("eps") {
				if err := s.set(i, next); err != nil {
					return err
				}
			}
		}
		s.cool, s.bad = s.int("cooldown"), 0
	}
	s.last = s.rates()
	return nil
}
