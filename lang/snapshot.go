package lang

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"go.starlark.net/starlark"

	"tpsh/lang/halt"
	"tpsh/lang/source"
)

// A snapshot is the frames of a thread that stands still, or did: those of functions
// of scripts, innermost first.
type snapshot struct {
	frames []*frame
	stack  starlark.CallStack
}

// A frame is a call of a function, with its variables.
type frame struct {
	spot   Spot
	fn     *starlark.Function
	depth  int      // of calls around it
	names  []string // of locals that have a value, in the order of their first assignment
	locals starlark.StringDict
}

// capture returns the frames of a thread, on its goroutine or while it waits.
func (h *halts) capture(t *starlark.Thread) *snapshot {
	s := &snapshot{stack: t.CallStack()}
	for i := range t.CallStackDepth() {
		fr := t.DebugFrame(i)
		if fn, ok := fr.Callable().(*starlark.Function); ok {
			f := newFrame(fr, fn, h.Lines(fr.Position().Filename()))
			f.depth = t.CallStackDepth() - 1 - i
			s.frames = append(s.frames, f)
		}
	}
	return s
}

// newFrame returns a frame of a call of fn, of the file that m is the Map of.
func newFrame(fr starlark.DebugFrame, fn *starlark.Function, m *halt.Map) *frame {
	pos := fr.Position()
	f := &frame{fn: fn, locals: starlark.StringDict{}}
	f.spot = Spot{Name: fn.Name(), Path: text(pos.Filename()), Line: int(pos.Line), Col: max(int(pos.Col), 1)}
	for i := range fn.NumFreeVars() {
		b, v := fn.FreeVar(i)
		f.add(b.Name, v)
	}
	for _, i := range localsIn(fr, m) {
		b, v := fr.Local(i)
		f.add(b.Name, uncelled(v))
	}
	return f
}

// localsIn returns the numbers of a frame's locals, those of comprehensions last: values that
// they leave there are hidden by variables of the function.
func localsIn(fr starlark.DebugFrame, m *halt.Map) []int {
	var own, inner []int
	for i := range fr.NumLocals() {
		if b, _ := fr.Local(i); m.Inner(b.Pos) {
			inner = append(inner, i)
		} else {
			own = append(own, i)
		}
	}
	return append(own, inner...)
}

// add adds a variable that has a value, unless one of its name hides it.
func (f *frame) add(name string, v starlark.Value) {
	if v == nil || source.IsHidden(name) || f.locals[name] != nil {
		return
	}
	f.names = append(f.names, name)
	f.locals[name] = v
}

// uncelled returns the value of a local that a function within shares. The interpreter
// keeps it in a cell, a type of its own with one field, which it shows of free
// variables and not of locals.
func uncelled(v starlark.Value) starlark.Value {
	if at := inCell(v); at != nil {
		return *at
	}
	return v
}

// watchName is the name of the frame of an errorWatch in a call stack.
const watchName = "<watch>"

// An errorWatch is a function at the outermost place of a thread's calls that takes
// snapshots where errors arise: the interpreter asks it for its name when it makes an
// error with its call stack, and then all frames are still there.
type errorWatch struct {
	h   *halts
	run func() error
}

func (w *errorWatch) String() string        { return watchName }
func (w *errorWatch) Type() string          { return "function" }
func (w *errorWatch) Freeze()               {}
func (w *errorWatch) Truth() starlark.Bool  { return true }
func (w *errorWatch) Hash() (uint32, error) { return 0, nil }

func (w *errorWatch) CallInternal(*starlark.Thread, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return starlark.None, w.run()
}

// Name implements starlark.Callable.
func (w *errorWatch) Name() string {
	if h := w.h; !h.busy && len(h.noted) < maxNoted && makesError() {
		h.busy = true
		h.noted = append(h.noted, h.captureError())
		h.busy = false
	}
	return watchName
}

// held is the variables of a call, as its frame has them while it lasts.
type held struct {
	fn     starlark.Callable
	locals []starlark.Value
}

// localsOf returns the place where a frame of the interpreter has its variables; nil if
// its frames are not as they were.
func localsOf(fr starlark.DebugFrame) *[]starlark.Value {
	if localsAt < 0 {
		return nil
	}
	return (*[]starlark.Value)(unsafe.Add(reflect.ValueOf(fr).UnsafePointer(), localsAt))
}

// localsAt is the offset of that in a frame.
var localsAt = func() int {
	t := new(starlark.Thread)
	at := -1
	starlark.Call(t, starlark.NewBuiltin("", func(t *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		f := reflect.TypeOf(t.DebugFrame(0))
		if f.Kind() != reflect.Pointer || f.Elem().Kind() != reflect.Struct {
			return starlark.None, nil
		}
		if field, ok := f.Elem().FieldByName("locals"); ok && field.Type == reflect.TypeFor[[]starlark.Value]() {
			at = int(field.Offset)
		}
		return starlark.None, nil
	}), nil, nil)
	return at
}()

// enter keeps the variables of the function that has just begun: the interpreter takes
// them from the frame in which an error of its own arises before it makes the error.
func (h *halts) enter(t *starlark.Thread) {
	depth := t.CallStackDepth() - 1
	for len(h.held) <= depth {
		h.held = append(h.held, held{})
	}
	fr := t.DebugFrame(1)
	if p := localsOf(fr); p != nil {
		h.held[depth] = held{fr.Callable(), *p}
	}
}

// captureError is capture where an error arises.
func (h *halts) captureError() *snapshot {
	t := h.thread
	fr, depth := t.DebugFrame(0), t.CallStackDepth()
	if p := localsOf(fr); p != nil && *p == nil && depth < len(h.held) && h.held[depth].fn == fr.Callable() {
		*p = h.held[depth].locals
		defer func() { *p = nil }()
	}
	return h.capture(t)
}

// maxNoted bounds the snapshots that are kept of an error: one for each time that it
// is made anew on its way up.
const maxNoted = 256

// makesError reports whether the interpreter is making an error.
func makesError() bool {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "(*Thread).evalError") {
			return true
		}
		if !more {
			return false
		}
	}
}

// watch runs a program on a thread, and if errors are to stop it, stops where the one
// arose that ends it.
func (h *halts) watch(t *starlark.Thread, run func() error) error {
	if !h.on || !h.engine.Orders().AnyError() {
		return run()
	}
	h.noted = nil
	_, err := starlark.Call(t, &errorWatch{h, run}, nil, nil)
	if s := h.origin(err); s != nil && h.job.ctx.Err() == nil && h.engine.Orders().Errors {
		h.stopAt(s, 0, &Halt{Reason: AtError, Text: text(newFailure(err).summaryOf())})
	}
	return err
}

// origin returns the snapshot of where an error arose, nil if there is none, and forgets
// all of them.
func (h *halts) origin(err error) *snapshot {
	noted := h.noted
	h.noted = nil
	at := deepest(err)
	if at == nil {
		return nil
	}
	for _, s := range slices.Backward(noted) {
		if slices.Equal(s.stack, at.CallStack) {
			return s
		}
	}
	return nil
}

// caught stops the thread, if it is to, where an error arose that the program has just
// caught.
func (h *halts) caught(t *starlark.Thread, err error) {
	if !h.on || h.busy {
		return
	}
	s := h.origin(err)
	if !h.engine.Orders().Caught || h.job.ctx.Err() != nil {
		return
	}
	if s == nil { // it arose in no function of the script
		s = h.capture(t)
	}
	h.stopAt(s, depthOf(t), &Halt{Reason: AtCaught, Text: text(newFailure(err).summaryOf())})
}
