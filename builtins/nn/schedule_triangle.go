package nn

import (
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
)

// cyclicKind is Smith, "Cyclical learning rates for training neural networks", 2017:
// up and down between two rates again and again, with the momentum the other way.
var cyclicKind = &scheduleKind{name: "CyclicLR",
	params: []scheduleParam{given("base_lr", nil), given("max_lr", nil), integer("step_size_up", 2000), {"step_size_down", starlark.None, positiveOrNone},
		{"mode", starlark.String("triangular"), cycling}, float("gamma", 1), {"scale_fn", starlark.None, functionOrNone}, {"scale_mode", starlark.String("cycle"), oneOf("cycle", "iterations")},
		{"cycle_momentum", starlark.True, trueOrFalse}, float("base_momentum", 0.8), float("max_momentum", 0.9)},
	check: checkCyclic,
	next:  cyclicRate,
	doc: "CyclicLR(optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode=\"triangular\", gamma=1.0, scale_fn=None, scale_mode=\"cycle\", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9) returns a schedule that goes from base_lr up to max_lr and down again, in cycles.\n" +
		"base_lr and max_lr are numbers, or one for each group. Down takes as many steps as up, unless\n" +
		"step_size_down says so. The height of a cycle stays, in mode \"triangular2\" halves with each, in\n" +
		"\"exp_range\" is gamma ** step of it; or it is multiplied by scale_fn of the number of the cycle, or\n" +
		"with scale_mode=\"iterations\" of the step. With cycle_momentum the momentum, or the first of betas,\n" +
		"goes from max_momentum to base_momentum and back.\n" + scheduleExample("CyclicLR(opt, 0.25, 0.75, step_size_up=2, cycle_momentum=False)", "0.75")}

// cycling checks the name of a mode.
func cycling(v starlark.Value) error {
	if s, _ := starlark.AsString(v); s != "triangular" && s != "triangular2" && s != "exp_range" {
		return arg.Bad(v, `one of "triangular", "triangular2", "exp_range"`, "")
	}
	return nil
}

// functionOrNone checks a function or None.
func functionOrNone(v starlark.Value) error {
	if _, ok := v.(starlark.Callable); !ok && v != starlark.None {
		return arg.Bad(v, "a function or None", "")
	}
	return nil
}

// perGroup makes the argument called name, a number or one for each group, a tuple.
func (s *Schedule) perGroup(fn, name string) ([]float64, error) {
	var list arg.List
	if v := s.args[name]; list.Unpack(v) != nil {
		for range s.o.groups {
			list = append(list, v)
		}
	}
	out := make([]float64, len(list))
	for i, v := range list {
		f, ok := starlark.AsFloat(v)
		if !ok || len(list) != len(s.o.groups) {
			return nil, arg.In(fn, name, arg.Bad(s.args[name], "a number, or one for each group", ""))
		}
		out[i] = f
	}
	s.args[name] = starlark.Tuple(list)
	return out, nil
}

// checkCyclic begins the cycles at base_lr.
func checkCyclic(s *Schedule, fn string) error {
	least, err := s.perGroup(fn, "base_lr")
	if err == nil {
		_, err = s.perGroup(fn, "max_lr")
	}
	if err != nil {
		return err
	}
	s.base = least
	if s.args["step_size_down"] == starlark.None {
		s.args["step_size_down"] = s.args["step_size_up"]
	}
	if s.args["cycle_momentum"] == starlark.True && momentumName(s.o) == "" {
		return &op.ArgError{Func: fn, Param: "cycle_momentum", Got: "True", Want: "False", Rule: s.o.rule.name + " has neither momentum nor betas"}
	}
	return nil
}

func cyclicRate(s *scheduleStep, i int, _ float64) float64 {
	up, down := float64(s.int("step_size_up")), float64(s.int("step_size_down"))
	cycle := math.Floor(1 + float64(s.step)/(up+down))
	at, peak := 1+float64(s.step)/(up+down)-cycle, up/(up+down)
	height := at / peak
	if at > peak {
		height = (at - 1) / (peak - 1)
	}
	height *= s.cycleScale(cycle)
	if s.args["cycle_momentum"] == starlark.True {
		most := s.float("max_momentum")
		s.setMomentum(i, most-float64((most-s.float("base_momentum"))*height))
	}
	most, _ := starlark.AsFloat(s.args["max_lr"].(starlark.Tuple)[i])
	return s.base[i] + float64((most-s.base[i])*height)
}

// cycleScale returns by how much a cycle, from 1 on, is less high than the first.
func (s *scheduleStep) cycleScale(cycle float64) float64 {
	if f, ok := s.args["scale_fn"].(starlark.Callable); ok {
		var n starlark.Value = starlark.MakeInt(int(cycle))
		if s.args["scale_mode"] == starlark.String("iterations") {
			n = starlark.MakeInt(s.step)
		}
		return s.returned("scale_fn", f, n)
	}
	switch s.args["mode"] {
	case starlark.String("triangular2"):
		return libm.Pow(2, 1-cycle)
	case starlark.String("exp_range"):
		return libm.Pow(s.float("gamma"), float64(s.step))
	}
	return 1
}
