package lang

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/halt"
)

// halts stops a rank's program for a debugger, and looks into it. The fields on the state
// of the program are written by the rank's goroutine; those below mu are read by the
// reader of the control connection, too, to whom the program's thread is open as
// long as it waits and mu is held.
type halts struct {
	s       *server
	engine  *halt.Engine
	on      bool        // the run under way may be stopped
	busy    bool        // an expression is evaluated
	noted   []*snapshot // where errors arose
	held    []held      // by depth: the variables of calls
	job     *job
	texts   map[string][]known // by path: the texts that have run
	lines   map[string]*halt.Map
	watched bool      // the rank tells of its waits
	release chan bool // holds a token when a rank that has stopped is to go on; true if as before it stopped
	asked   chan look // questions to a rank that has stopped
	out     *recorder
	dir     string   // of the script
	marking *marking // of the run under way; nil for none

	mu          sync.Mutex
	thread      *starlark.Thread
	predeclared starlark.StringDict
	standing    Standing
	call        fmt.Stringer // in which it waits
}

// A look is a question with its number.
type look struct {
	seq int
	q   *Question
}

func newHalts(s *server) *halts {
	h := &halts{s: s, texts: map[string][]known{}, lines: map[string]*halt.Map{}, release: make(chan bool, 1), asked: make(chan look, 64), standing: Running}
	h.engine = halt.NewEngine(h)
	return h
}

// Lines implements halt.Sources.
func (h *halts) Lines(path string) *halt.Map {
	if m := h.lines[path]; m != nil || len(h.texts[path]) == 0 {
		return m
	}
	var files []*syntax.File
	for _, k := range h.texts[path] {
		if file, err := parseCore(path, k.source, k.line); err == nil {
			files = append(files, file)
		}
	}
	m := halt.NewMap(files...)
	h.lines[path] = m
	return m
}

// A known source has run, from a line of its path on.
type known struct {
	source string
	line   int
}

// Same implements halt.Sources.
func (h *halts) Same(name, path string) bool {
	return halt.SameFile(name, path, h.dir) || filepath.IsAbs(name) && filepath.Clean(name) == filepath.Join(h.dir, filepath.Base(path))
}

// know notes a source that is about to run.
func (h *halts) know(path, source string, firstLine int) {
	k := known{source, max(firstLine, 1)}
	if !slices.Contains(h.texts[path], k) {
		h.texts[path] = append(h.texts[path], k)
		delete(h.lines, path)
		h.engine.Forget()
	}
}

// begin says that a program is about to run on a thread.
func (h *halts) begin(t *starlark.Thread, j *job, out *recorder, on bool, predeclared starlark.StringDict) {
	h.mu.Lock()
	h.thread, h.predeclared, h.standing = t, predeclared, Running
	h.mu.Unlock()
	h.job, h.out, h.on = j, out, on
	select {
	case <-h.release: // of an order that came too late
	default:
	}
	if !on {
		return
	}
	h.dir, _ = t.Local(ScriptDir).(string)
	h.engine.Forget()
	t.SetLocal(BreakpointKey, h.breakpoint)
	t.SetLocal(CaughtKey, h.caught)
	if e, ok := h.s.env.(Onlooker); ok && !h.watched {
		h.watched = true
		e.Watch(h.waits)
	}
}

// end says that the program has ended.
func (h *halts) end() {
	h.on = false
	h.mu.Lock()
	h.standing, h.thread = Running, nil
	h.mu.Unlock()
	h.answerLate()
}

// answerLate answers the questions that came too late for a rank that had stopped: it runs.
func (h *halts) answerLate() {
	for {
		select {
		case l := <-h.asked:
			h.s.send(&message{Seq: l.seq, Seen: &Answer{Standing: Running}})
		default:
			return
		}
	}
}

// BreakpointKey is the key of the thread local that holds the function that breakpoint() calls, a
// func(*starlark.Thread) error; nil where no debugger is.
const BreakpointKey = "tpsh.breakpoint"

// CaughtKey is the key of the thread local that holds the function called with an error that
// the program catches, a func(*starlark.Thread, error); nil where no debugger is.
const CaughtKey = "tpsh.caught"

func (h *halts) breakpoint(t *starlark.Thread) error {
	if h.busy {
		return fmt.Errorf("an expression that a debugger evaluates does not stop")
	}
	h.stop(t, &Halt{Reason: AtCall})
	return context.Cause(h.job.ctx)
}

// watching reports whether every instruction is to be looked at.
func (h *halts) watching() bool { return h.on && !h.busy && h.engine.Watching() }

// at looks at the instruction before which a thread is, and reports whether it is to
// look at the next one, too.
func (h *halts) at(t *starlark.Thread) bool {
	if !h.watching() {
		return false
	}
	if stop := h.engine.At(t); stop != nil {
		h.consider(t, stop)
	}
	return true
}

// A mark is the value of halt.MarkName in marked programs.
type mark struct{ h *halts }

var _ starlark.Callable = mark{}

func (m mark) Name() string          { return halt.MarkName }
func (m mark) String() string        { return halt.MarkName }
func (m mark) Type() string          { return "mark" }
func (m mark) Freeze()               {}
func (m mark) Hash() (uint32, error) { return 0, nil }

// Truth says that the program is at a statement.
func (m mark) Truth() starlark.Bool {
	if h := m.h; h.on && !h.busy {
		if stop := h.engine.Arrive(h.thread); stop != nil {
			h.consider(h.thread, stop)
		}
	}
	return true
}

// CallInternal says that a function begins.
func (m mark) CallInternal(t *starlark.Thread, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if m.h.on && !m.h.busy {
		m.h.enter(t)
	}
	return starlark.None, nil
}

// prepare readies a run that a debugger may stop: names get the value that its marks ask for.
func (h *halts) prepare(p *runMsg, names starlark.StringDict) *marking {
	if !p.Debug {
		return nil
	}
	names[halt.MarkName] = mark{h}
	return &marking{h.engine.Orders().AnyError(), p.Marked}
}

// A marking says how files are marked for a debugger as they are compiled.
type marking struct {
	entries bool // functions say that they begin; see halts.enter
	all     bool // and not only those that mention breakpoint
}

// wants reports whether a source is marked.
func (m *marking) wants(source string) bool {
	return m != nil && (m.all || strings.Contains(source, "breakpoint"))
}

// consider stops the thread if a condition of one of the breakpoints is true, or there
// is none, or it has made its step.
func (h *halts) consider(t *starlark.Thread, stop *halt.Stop) {
	for _, b := range stop.Breaks {
		if why := h.meets(t, b); why != nil {
			h.stop(t, why)
			return
		}
	}
	switch stop.Step {
	case halt.Go:
	case halt.Pause:
		h.stop(t, &Halt{Reason: AtPause})
	default:
		h.stop(t, &Halt{Reason: AtStep})
	}
}

// meets returns why a thread stops at a breakpoint, or nil.
func (h *halts) meets(t *starlark.Thread, b *halt.Break) *Halt {
	why := &Halt{Reason: AtBreak, Break: b.ID}
	if b.Cond != "" {
		v, err := h.evaluate(h.capture(t), 0, b.Cond)
		if err != nil {
			why.Text = text(fmt.Sprintf("the condition %s cannot be evaluated: %v", b.Cond, err))
			return why
		}
		if !v.Truth() {
			return nil
		}
	}
	if b.Differs != "" {
		why.Reason, why.Text = AtCompare, text(b.Differs)
		v, err := h.evaluate(h.capture(t), 0, b.Differs)
		if err != nil {
			why.Digest, why.Value = text(err.Error()), text(err.Error())
			return why
		}
		shown := h.show(b.Differs, "", v)
		why.Digest, why.Value = shown.Digest, shown.Text
	}
	return why
}

// waits says that the rank begins to wait in a call. A step to the next collective ends
// there.
func (h *halts) waits(call fmt.Stringer, collective bool) (over func()) {
	t := h.thread
	if !h.on || h.busy || t == nil {
		return func() {}
	}
	if collective && h.engine.Orders().Step == halt.Collective {
		h.stop(t, &Halt{Reason: AtCollective, Text: text(call.String())})
	}
	h.engine.Waits(depthOf(t))
	h.stand(Waiting, call)
	return func() {
		h.stand(Running, nil)
		h.hurry(t)
	}
}

// hurry has the thread looked at before its next instruction, if that is to be done:
// its orders may have changed since it was looked at last.
func (h *halts) hurry(t *starlark.Thread) {
	if h.watching() {
		t.SetMaxExecutionSteps(1)
	}
}

func (h *halts) stand(s Standing, call fmt.Stringer) {
	h.mu.Lock()
	h.standing, h.call = s, call
	h.mu.Unlock()
}

// depthOf returns how deeply calls of functions of scripts are nested, of which the
// innermost has called the builtin functions above it.
func depthOf(t *starlark.Thread) int {
	n := t.CallStackDepth()
	for i := range n {
		if _, ok := t.DebugFrame(i).Callable().(*starlark.Function); ok {
			return n - i
		}
	}
	return 0
}

// stop tells the debugger that the rank has stopped, and answers its questions until
// the rank is to go on or the run ends.
func (h *halts) stop(t *starlark.Thread, why *Halt) { h.stopAt(h.capture(t), depthOf(t), why) }

func (h *halts) stopAt(s *snapshot, depth int, why *Halt) {
	if why.Reason != AtCompare { // after which it may go on as before
		h.engine.Stopped()
	}
	if len(s.frames) > 0 {
		why.Where = s.frames[0].spot
	}
	h.stand(Halted, nil)
	h.s.send(&message{Seq: h.job.seq, Halt: why})
	if asBefore := h.serve(s); !asBefore {
		h.engine.GoesOn(depth)
	}
	h.stand(Running, nil)
	h.answerLate()
	h.s.send(&message{Seq: h.job.seq, Halt: &Halt{Over: true}})
	h.hurry(h.thread)
}

// serve answers questions about a rank that stands still until it is to go on, and
// reports whether it does so as before.
func (h *halts) serve(s *snapshot) (asBefore bool) {
	for {
		select {
		case l := <-h.asked:
			if l.q.What == AskLines {
				h.out.Cut()
			}
			a := h.answer(s, l.q)
			a.Standing = Halted
			h.s.send(&message{Seq: l.seq, Seen: a})
		case asBefore = <-h.release:
			return asBefore
		case <-h.job.ctx.Done():
			return false
		}
	}
}

// order takes the orders of a debugger. The reader of the control connection calls it.
func (h *halts) order(o *orderMsg) {
	orders := o.Orders
	if orders.Step == halt.Go && !o.Resume {
		orders.Step = h.engine.Orders().Step // which goes on
	}
	if !o.Keep {
		h.engine.Order(&orders)
	}
	if !o.Resume {
		return
	}
	h.mu.Lock()
	halted := h.standing == Halted
	h.mu.Unlock()
	if halted {
		select {
		case h.release <- o.Keep:
		default:
		}
	}
}

// look answers a question or has the rank's goroutine do so. The reader of the control
// connection calls it. As long as the rank waits for others, it is held in its call.
func (h *halts) look(seq int, q *Question) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &Answer{Standing: h.standing}
	switch {
	case h.standing == Halted:
		select {
		case h.asked <- look{seq, q}:
			return
		default:
			a.Error = "too many questions at once"
		}
	case h.standing == Waiting && h.thread != nil:
		a = h.answer(h.capture(h.thread), q)
		a.Standing, a.Call = Waiting, text(h.call.String())
	}
	h.s.send(&message{Seq: seq, Seen: a})
}
