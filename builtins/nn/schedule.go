package nn

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// A Schedule changes the learning rates of an optimiser as training goes on: those
// of its groups, by the number of steps since the schedule was made.
type Schedule struct {
	kind *scheduleKind
	o    *Optimizer
	args map[string]starlark.Value // what it was made with
	base []float64                 // the groups' learning rates before it
	step int                       // how many steps were made
	last []float64                 // the learning rates that it gave last

	parts []*Schedule // of a SequentialLR and a ChainedScheduler
	// Of a ReduceLROnPlateau: the best value, how long nothing was better, and how
	// long nothing is to happen.
	best      float64
	bad, cool int
}

// A scheduleKind is a kind of schedule.
type scheduleKind struct {
	name   string
	params []scheduleParam
	// order gives the arguments of a constructor the order of params, after the optimiser;
	// nil for those that have it.
	order func(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, []starlark.Tuple)
	// next returns the learning rate at step s.step of group i, where rate is its
	// learning rate now.
	next func(s *scheduleStep, i int, rate float64) float64
	// check refuses arguments that do not go together, and prepares s; it may be nil.
	check func(s *Schedule, fn string) error
	// advance makes a step otherwise; it may be nil.
	advance func(s *Schedule, metric float64, thread *starlark.Thread) error
	doc     string
}

// A scheduleStep is a step of a schedule; thread is the script's, for what it asks
// of that.
type scheduleStep struct {
	*Schedule
	thread *starlark.Thread
	err    error // the first
}

// A scheduleParam is a parameter of a schedule; value is nil for one that must be
// given.
type scheduleParam struct {
	name  string
	value starlark.Value
	check func(v starlark.Value) error
}

var (
	_ starlark.HasAttrs = (*Schedule)(nil)
	_ arg.Described     = (*Schedule)(nil)
)

func (s *Schedule) String() string        { return fmt.Sprintf("%s(step=%d)", s.kind.name, s.step) }
func (s *Schedule) Describe() string      { return s.String() }
func (s *Schedule) Type() string          { return s.kind.name }
func (s *Schedule) Truth() starlark.Bool  { return true }
func (s *Schedule) Hash() (uint32, error) { return 0, builtins.Unhashable(s) }
func (s *Schedule) Freeze()               { s.o.Freeze() }
func (s *Schedule) Owner() string         { return "LRScheduler" }

// Attr implements starlark.HasAttrs.
func (s *Schedule) Attr(name string) (starlark.Value, error) {
	return s.o.env.Attr("LRScheduler", s, name)
}

// AttrNames implements starlark.HasAttrs.
func (s *Schedule) AttrNames() []string { return builtins.AttrNames("LRScheduler") }

// A lastEpoch is the number of the step before that at which a schedule begins.
type lastEpoch int

// Unpack implements starlark.Unpacker.
func (p *lastEpoch) Unpack(v starlark.Value) error {
	n, err := arg.ToInt(v)
	if err == nil && n < -1 {
		err = arg.Bad(v, "an int from -1 on", "")
	}
	*p = lastEpoch(n)
	return err
}

// float returns an argument that is a number.
func (s *Schedule) float(name string) float64 {
	f, _ := starlark.AsFloat(s.args[name])
	return f
}

// int returns an argument that is an int.
func (s *Schedule) int(name string) int {
	n, err := arg.ToInt(s.args[name])
	if err != nil {
		panic("nn: " + s.kind.name + "." + name + " is no int")
	}
	return n
}

// newSchedule returns the constructor of schedules of kind k.
func newSchedule(k *scheduleKind) builtins.Function {
	return func(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var o starlark.Value
		values := make([]starlark.Value, len(k.params))
		pairs := []any{"optimizer", &o}
		for i, p := range k.params {
			name := p.name
			if values[i] = p.value; p.value != nil {
				name += "?"
			}
			pairs = append(pairs, name, &values[i])
		}
		if k.order != nil {
			args, kwargs = k.order(args, kwargs)
		}
		last := lastEpoch(-1)
		if k.next != nil {
			pairs = append(pairs, "last_epoch?", &last)
		}
		if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
			return nil, err
		}
		opt, ok := o.(*Optimizer)
		if !ok {
			return nil, arg.In(b.Name(), "optimizer", arg.Bad(o, "an optimiser", ""))
		}
		if err := opt.mayChange(b.Name()); err != nil {
			return nil, err
		}
		s := &Schedule{kind: k, o: opt, args: map[string]starlark.Value{}}
		for i, p := range k.params {
			if p.check != nil {
				if err := p.check(values[i]); err != nil {
					return nil, arg.In(b.Name(), p.name, err)
				}
			}
			s.args[p.name] = values[i]
		}
		s.step = int(last) + 1
		if last >= 0 && valueAt(opt.groups[0], "initial_lr") == nil {
			return nil, arg.In(b.Name(), "last_epoch", arg.Bad(starlark.MakeInt(int(last)), "-1", "the groups have no \"initial_lr\", which a schedule or a state leaves in them"))
		}
		if err := s.begin(); err != nil {
			return nil, err
		}
		if k.check != nil {
			if err := k.check(s, b.Name()); err != nil {
				return nil, err
			}
		}
		return s, s.apply(thread)
	}
}

// begin notes the learning rates that the groups have before any schedule: the
// first of an optimiser leaves them in its groups.
func (s *Schedule) begin() error {
	for _, d := range s.o.groups {
		v := valueAt(d, "initial_lr")
		if v == nil {
			v = valueAt(d, "lr")
			if err := d.SetKey(starlark.String("initial_lr"), v); err != nil {
				return err
			}
		}
		f, _ := starlark.AsFloat(v)
		s.base = append(s.base, f)
	}
	s.last = s.rates()
	return nil
}

// grow takes groups in that the optimiser has been given since, unless there are
// arguments for each of those before.
func (s *Schedule) grow() error {
	for _, name := range []string{"lr_lambda", "max_lr", "min_lr"} {
		if _, each := s.args[name].(starlark.Tuple); each {
			return nil
		}
	}
	if len(s.base) < len(s.o.groups) {
		s.base = nil
		return s.begin()
	}
	return nil
}

// rates returns the learning rates of the groups.
func (s *Schedule) rates() []float64 {
	list := make([]float64, len(s.o.groups))
	for i, d := range s.o.groups {
		list[i], _ = starlark.AsFloat(valueAt(d, "lr"))
	}
	return list
}

// apply gives the groups the learning rates of the step at hand. Those of a
// LambdaLR are asked of the script, in thread.
func (s *Schedule) apply(thread *starlark.Thread) error {
	if s.kind.next == nil {
		return nil
	}
	c := &scheduleStep{Schedule: s, thread: thread}
	if err := s.grow(); err != nil {
		return err
	}
	for i, rate := range s.rates()[:len(s.base)] {
		if rate = s.kind.next(c, i, rate); c.err != nil {
			return c.err
		}
		if err := s.set(i, rate); err != nil {
			return err
		}
	}
	s.last = s.rates()
	return nil
}

// set gives group i a learning rate.
func (s *Schedule) set(i int, rate float64) error {
	return s.o.groups[i].SetKey(starlark.String("lr"), starlark.Float(rate))
}

// advance makes one step.
func (s *Schedule) advance(metric float64, thread *starlark.Thread) error {
	if s.kind.advance != nil {
		return s.kind.advance(s, metric, thread)
	}
	s.step++
	return s.apply(thread)
}

// restart is step 0 from the learning rates before the schedule.
func (s *Schedule) restart(thread *starlark.Thread) error {
	s.step = 0
	for i, rate := range s.base {
		if err := s.set(i, rate); err != nil {
			return err
		}
	}
	for _, p := range s.parts {
		if err := p.restart(thread); err != nil {
			return err
		}
	}
	return s.apply(thread)
}

// scheduleRow returns a row for a method of schedules.
func scheduleRow(name, doc string, do func(s *Schedule, thread *starlark.Thread, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "LRScheduler." + name, Doc: doc, Fn: func(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return do(b.Receiver().(*Schedule), thread, b.Name(), args, kwargs)
	}}
}

const aSchedule = ">>> opt = optim.SGD([zeros(1, requires_grad=True)], lr=1.0)\n>>> s = optim.lr_scheduler.StepLR(opt, step_size=1)\n"

func init() {
	builtins.Register(
		&builtins.Row{Name: "optim.lr_scheduler", Namespace: true, Doc: "optim.lr_scheduler is the module of schedules of the learning rate.\n" +
			"A schedule changes the \"lr\" of its optimiser's groups when it is made, and then at each\n" +
			"step(), which comes after the optimiser's. Several may be made of one optimiser.\n" + aSchedule + ">>> s.step()\n>>> opt.lr\n0.1"},
		&builtins.Row{Name: "LRScheduler", Doc: "LRScheduler is the type of schedules of the learning rate, as optim.lr_scheduler makes them; type(s) is the kind: \"StepLR\"."},
		&builtins.Row{Name: "LRScheduler.last_epoch", Doc: "last_epoch is how many steps were made.\n" + aSchedule + ">>> s.last_epoch\n0",
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
				return starlark.MakeInt(x.(*Schedule).step), nil
			}},
		&builtins.Row{Name: "LRScheduler.base_lrs", Doc: "base_lrs is the learning rates of the groups before any schedule.\n" + aSchedule + ">>> s.base_lrs\n[1.0]",
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
				return floatList(x.(*Schedule).base), nil
			}},
		scheduleRow("step", "step(metrics=None) changes the learning rates. Of a ReduceLROnPlateau metrics is what is to become better, a number or a tensor of one element.\n"+
			aSchedule+">>> s.step()\n>>> opt.lr\n0.1", stepSchedule),
		scheduleRow("get_last_lr", "get_last_lr() returns the learning rates that the schedule gave the groups last, as a list.\n"+aSchedule+">>> s.get_last_lr()\n[1.0]",
			func(s *Schedule, _ *starlark.Thread, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return floatList(s.last), arg.Unpack(fn, args, kwargs)
			}),
		scheduleRow("state_dict", "state_dict() returns where the schedule is, as a dict.\n"+aSchedule+">>> s.state_dict()\n{\"last_epoch\": 0, \"base_lrs\": [1.0], \"last_lr\": [1.0]}", scheduleState),
		scheduleRow("load_state_dict", "load_state_dict(state_dict) has the schedule go on where one of the same kind was.\n"+aSchedule+">>> s.load_state_dict({\"last_epoch\": 5, \"base_lrs\": [2.0], \"last_lr\": [0.5]})\n>>> s.last_epoch\n5", loadSchedule),
	)
}

// floatList returns numbers as a list of a script.
func floatList(list []float64) *starlark.List {
	return listOf(list, func(f float64) starlark.Value { return starlark.Float(f) })
}

func stepSchedule(s *Schedule, thread *starlark.Thread, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value = starlark.None
	if err := arg.Unpack(fn, args, kwargs, "metrics?", &v); err != nil {
		return nil, err
	}
	if err := s.o.mayChange(fn); err != nil {
		return nil, err
	}
	metric := math.NaN()
	if v != starlark.None {
		f, err := s.metric(fn, v)
		if err != nil {
			return nil, err
		}
		metric = f
	}
	if plateau := s.kind == plateauKind; plateau != (v != starlark.None) {
		want := "no metrics"
		if plateau {
			want = "a number"
		}
		return nil, &op.ArgError{Func: fn, Param: "metrics", Got: arg.Show(v), Want: want, Rule: "the schedule is a " + s.kind.name}
	}
	return starlark.None, arg.Rename(fn, s.advance(metric, thread))
}

// metric returns v, a number or a tensor of one element, as a float.
func (s *Schedule) metric(fn string, v starlark.Value) (float64, error) {
	if f, ok := starlark.AsFloat(v); ok {
		return f, nil
	}
	t, err := builtins.ToTensor(v)
	if err != nil || t.Numel() != 1 {
		return 0, arg.In(fn, "metrics", arg.Bad(v, "a number or a tensor of one element", ""))
	}
	if t, err = s.o.env.Whole(fn, t); err != nil || t.Hollow() {
		return math.NaN(), err
	}
	return op.Float64At(t, 0), nil
}

func scheduleState(s *Schedule, thread *starlark.Thread, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(fn, args, kwargs); err != nil {
		return nil, err
	}
	d := starlark.NewDict(6)
	put := func(name string, v starlark.Value) { d.SetKey(starlark.String(name), v) }
	put("last_epoch", starlark.MakeInt(s.step))
	put("base_lrs", floatList(s.base))
	put("last_lr", floatList(s.last))
	if s.kind == plateauKind {
		put("best", starlark.Float(s.best))
		put("num_bad_epochs", starlark.MakeInt(s.bad))
		put("cooldown_counter", starlark.MakeInt(s.cool))
	}
	if s.parts != nil {
		var parts []starlark.Value
		for _, p := range s.parts {
			v, err := scheduleState(p, thread, fn, nil, nil)
			if err != nil {
				return nil, err
			}
			parts = append(parts, v)
		}
		put("schedulers", starlark.NewList(parts))
	}
	return d, nil
}

func loadSchedule(s *Schedule, _ *starlark.Thread, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := arg.Unpack(fn, args, kwargs, "state_dict", &v); err != nil {
		return nil, err
	}
	return starlark.None, s.load(fn, v)
}

// load takes over what scheduleState returned.
func (s *Schedule) load(fn string, v starlark.Value) error {
	bad := func(rule string) error {
		return &op.ArgError{Func: fn, Param: "state_dict", Got: arg.Show(v), Want: "what state_dict() of a " + s.kind.name + " returned", Rule: rule}
	}
	d, ok := v.(*starlark.Dict)
	if !ok {
		return bad("a dict")
	}
	names := []string{"last_epoch"}
	if s.kind == plateauKind {
		names = append(names, "num_bad_epochs", "cooldown_counter")
	}
	ints := make([]int, len(names))
	for i, name := range names {
		n, err := arg.ToInt(orNone(valueAt(d, name)))
		if err != nil || n < 0 {
			return bad(name + " is an int from 0 on")
		}
		ints[i] = n
	}
	var lists [2][]float64
	for i, name := range []string{"base_lrs", "last_lr"} {
		var list arg.List
		if list.Unpack(orNone(valueAt(d, name))) != nil || len(list) != len(s.base) {
			return bad(name + " has a number for each group")
		}
		for _, x := range list {
			f, ok := starlark.AsFloat(x)
			if !ok {
				return bad(name + " has a number for each group")
			}
			lists[i] = append(lists[i], f)
		}
	}
	if s.kind == plateauKind {
		best, ok := starlark.AsFloat(orNone(valueAt(d, "best")))
		if !ok {
			return bad("best is a number")
		}
		s.best, s.bad, s.cool = best, ints[1], ints[2]
	}
	if s.parts != nil {
		var list arg.List
		if list.Unpack(orNone(valueAt(d, "schedulers"))) != nil || len(list) != len(s.parts) {
			return bad(fmt.Sprintf("schedulers are %d", len(s.parts)))
		}
		for i, p := range s.parts {
			if err := p.load(fn, list[i]); err != nil {
				return err
			}
		}
	}
	s.step, s.base, s.last = ints[0], lists[0], lists[1]
	return nil
}

// orNone returns v, or None for nil.
func orNone(v starlark.Value) starlark.Value {
	if v == nil {
		return starlark.None
	}
	return v
}
