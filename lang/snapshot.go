package lang

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"go.starlark.net/starlark"

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
	names  []string // of locals that have a value, in the order of their first assignment
	locals starlark.StringDict
}

// capture returns the frames of a thread, on its goroutine or while it waits.
func capture(t *starlark.Thread) *snapshot {
	s := &snapshot{stack: t.CallStack()}
	for i := range t.CallStackDepth() {
		fr := t.DebugFrame(i)
		if fn, ok := fr.Callable().(*starlark.Function); ok {
			s.frames = append(s.frames, newFrame(fr, fn))
		}
	}
	return s
}

func newFrame(fr starlark.DebugFrame, fn *starlark.Function) *frame {
	pos := fr.Position()
	f := &frame{fn: fn, locals: starlark.StringDict{}}
	f.spot = Spot{Name: fn.Name(), Path: text(pos.Filename()), Line: int(pos.Line), Col: max(int(pos.Col), 1)}
	for i := range fn.NumFreeVars() {
		b, v := fn.FreeVar(i)
		f.add(b.Name, v)
	}
	for i := range fr.NumLocals() {
		b, v := fr.Local(i)
		f.add(b.Name, uncelled(v))
	}
	return f
}

func (f *frame) add(name string, v starlark.Value) {
	if v == nil || source.IsHidden(name) {
		return
	}
	if f.locals[name] == nil {
		f.names = append(f.names, name)
	}
	f.locals[name] = v
}

// uncelled returns the value of a local that a function within shares. The interpreter
// keeps it in a cell, a type of its own with one field, which it shows of free
// variables and not of locals.
func uncelled(v starlark.Value) starlark.Value {
	if v == nil || v.Type() != "cell" {
		return v
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer || r.Elem().Kind() != reflect.Struct || r.Elem().NumField() != 1 {
		return v
	}
	field := r.Elem().Field(0)
	inner, _ := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface().(starlark.Value)
	return inner
}

// watchName is what the frame of an errorWatch is called in a call stack.
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
	return capture(t)
}

// maxNoted bounds the snapshots that are kept of a run: an error that the program
// catches is forgotten with the first ones.
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
	if !h.on || !h.engine.Orders().Errors {
		return run()
	}
	h.noted = nil
	_, err := starlark.Call(t, &errorWatch{h, run}, nil, nil)
	at := deepest(err)
	if at == nil || h.job.ctx.Err() != nil {
		return err
	}
	for _, s := range slices.Backward(h.noted) {
		if slices.Equal(s.stack, at.CallStack) {
			h.noted = nil
			h.stopAt(s, 0, &Halt{Reason: AtError, Text: text(newFailure(err).summaryOf())})
			break
		}
	}
	return err
}
