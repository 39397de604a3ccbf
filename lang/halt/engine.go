package halt

import (
	"sync/atomic"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Break is a place where a thread stops.
type Break struct {
	ID   int    `json:"id"`
	File string `json:"file"` // as the user gives it; see SameFile
	Line int    `json:"line"`
	// Cond is an expression that must be true there; "" for always.
	Cond string `json:"cond,omitempty"`
	// Differs is an expression: the thread stops so that its value is compared
	// with that of others.
	Differs string `json:"differs,omitempty"`
}

// A Step is how far a thread goes.
type Step string

const (
	Go         Step = ""           // to a breakpoint
	In         Step = "step"       // to the next statement, of whatever function
	Next       Step = "next"       // to the next statement of the same call, or behind its end
	Out        Step = "out"        // behind the end of the call
	Pause      Step = "pause"      // no further
	Collective Step = "collective" // to the next collective, of which the driver of the thread knows
)

// Orders are a debugger's wishes for a thread. They are not changed.
type Orders struct {
	Breaks []Break `json:"breaks,omitempty"`
	Step   Step    `json:"step,omitempty"`
	// Errors stops where an error ends the program, Caught where one arises that the
	// program catches.
	Errors bool `json:"errors,omitempty"`
	Caught bool `json:"caught,omitempty"`
}

// AnyError reports whether some errors stop the thread.
func (o *Orders) AnyError() bool { return o.Errors || o.Caught }

// A Stop says why a thread may stop: for Breaks, whose conditions are not known here,
// or for its Step.
type Stop struct {
	Breaks []*Break
	Step   Step // Go if it stops for no step
}

// Sources has the statements and the paths of the files of a program.
type Sources interface {
	// Lines returns the Map of a path; nil if there is none.
	Lines(path string) *Map
	// Same reports whether a name, as a user gives it, means a path.
	Same(name, path string) bool
}

// An Engine decides where one thread stops. Its methods are for the goroutine of the
// thread, but for Order.
type Engine struct {
	sources Sources
	orders  atomic.Pointer[Orders]

	now    *Orders // those that the plans are of
	depth  int     // of calls, when the step began
	fn     *starlark.Function
	plan   *plan // of fn
	cached map[function]*plan
}

// A function is known by where it begins: closures of one are the same.
type function struct {
	path      string
	line, col int32
	name      string
}

// A plan is the breakpoints of a function, by the lines of its statements.
type plan map[int32][]*Break

// NewEngine returns an Engine that stops nowhere.
func NewEngine(s Sources) *Engine {
	e := &Engine{sources: s}
	e.orders.Store(new(Orders))
	return e
}

// Order gives the engine its orders.
func (e *Engine) Order(o *Orders) { e.orders.Store(o) }

// Orders returns the orders that the engine has.
func (e *Engine) Orders() *Orders { return e.orders.Load() }

// Watching reports whether the engine is to see every instruction: to stop in the middle
// of a statement.
func (e *Engine) Watching() bool {
	o := e.orders.Load()
	return o.Step == Pause || o.Step == Out
}

// Forget forgets its knowledge of sources, of which there are more now.
func (e *Engine) Forget() { e.now = nil }

// Stopped says that the thread stands still, and that its step is done.
func (e *Engine) Stopped() {
	for done := false; !done; {
		old := e.orders.Load()
		o := *old
		o.Step = Go
		done = e.orders.CompareAndSwap(old, &o)
	}
}

// GoesOn says that the thread goes on by new orders from calls nested so deeply.
func (e *Engine) GoesOn(depth int) { e.depth = depth }

// Waits says that the thread waits, at calls nested so deeply: a step that is ordered
// meanwhile begins there.
func (e *Engine) Waits(depth int) {
	if e.orders.Load().Step == Go {
		e.depth = depth
	}
}

// At returns why the thread stops before the instruction at which it is, or nil.
func (e *Engine) At(t *starlark.Thread) *Stop {
	switch o := e.orders.Load(); {
	case o.Step == Pause:
		return &Stop{Step: Pause}
	case o.Step == Out && t.CallStackDepth() < e.depth:
		return &Stop{Step: Out}
	}
	return nil
}

// Arrive returns why the thread stops before the statement whose mark it has met, or
// nil.
func (e *Engine) Arrive(t *starlark.Thread) *Stop {
	o := e.orders.Load()
	if len(o.Breaks) == 0 && o.Step != In && o.Step != Next {
		return nil
	}
	if o != e.now {
		e.now, e.cached, e.fn = o, map[function]*plan{}, nil
	}
	fr := t.DebugFrame(0)
	fn, ok := fr.Callable().(*starlark.Function)
	if !ok {
		return nil
	}
	if fn != e.fn {
		e.fn, e.plan = fn, e.planOf(fn)
	}
	step, breaks := Go, []*Break(nil)
	if o.Step == In || o.Step == Next && t.CallStackDepth() <= e.depth {
		step = o.Step
	}
	if len(*e.plan) > 0 {
		breaks = (*e.plan)[fr.Position().Line]
	}
	if step == Go && len(breaks) == 0 {
		return nil
	}
	return &Stop{Breaks: breaks, Step: step}
}

// planOf returns the plan of a function.
func (e *Engine) planOf(fn *starlark.Function) *plan {
	start := fn.Position()
	key := function{start.Filename(), start.Line, start.Col, fn.Name()}
	p := e.cached[key]
	if p == nil {
		p = e.newPlan(fn, start)
		e.cached[key] = p
	}
	return p
}

func (e *Engine) newPlan(fn *starlark.Function, start syntax.Position) *plan {
	p := plan{}
	m := e.sources.Lines(start.Filename())
	for i := range e.now.Breaks {
		b := &e.now.Breaks[i]
		if m == nil || !e.sources.Same(b.File, start.Filename()) {
			continue
		}
		if line := int32(m.Stop(b.Line)); m.within(line, fn, start) {
			p[line] = append(p[line], b)
		}
	}
	return &p
}

// within reports whether a statement belongs to a function that begins at start: by
// its def, or if that is the whole file, to none. Of a lambda it is the line on which
// its expression begins.
func (m *Map) within(line int32, fn *starlark.Function, start syntax.Position) bool {
	switch fn.Name() {
	case "<toplevel>":
		return m.owners[line] == 0
	case "lambda":
		return m.lambdas[place{start.Line, start.Col}] == line
	}
	return m.owners[line] == start.Line
}
