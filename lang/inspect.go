package lang

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// maxText is how many bytes of a value's text a debugger is shown, maxParts how many
// of its parts.
const (
	maxText  = 4000
	maxParts = 1000
)

// answer answers a question about a snapshot.
func (h *halts) answer(s *snapshot, q *Question) *Answer {
	a := new(Answer)
	err := protect(func() (err error) {
		switch q.What {
		case AskFrames:
			for _, f := range s.frames {
				a.Frames = append(a.Frames, f.spot)
			}
		case AskLines:
		case AskAssign:
			a.Values, err = h.assign(s, q.Frame, string(q.Expr))
		case AskLocals:
			a.Values, err = h.variables(s, q.Frame, false)
		case AskGlobals:
			a.Values, err = h.variables(s, q.Frame, true)
		case AskValue, AskParts:
			var v starlark.Value
			if v, err = h.evaluate(s, q.Frame, string(q.Expr)); err != nil {
				return err
			}
			if a.Values = []Value{h.show(string(q.Expr), string(q.Expr), v)}; q.What == AskParts {
				a.Values = h.parts(string(q.Expr), v)
			}
		default:
			err = fmt.Errorf("got the question %q", q.What)
		}
		return err
	})
	if err != nil {
		a.Error = text(newFailure(err).summaryOf())
	}
	return a
}

// frameOf returns a frame by its number.
func (s *snapshot) frameOf(n int) (*frame, error) {
	if n < 0 || n >= len(s.frames) {
		return nil, fmt.Errorf("got frame %d, want one from 0 to %d", n, len(s.frames)-1)
	}
	return s.frames[n], nil
}

// variables returns the local variables of a frame, or the global ones of its file. At
// the top level of a file the global ones are the local ones.
func (h *halts) variables(s *snapshot, n int, global bool) ([]Value, error) {
	f, err := s.frameOf(n)
	if err != nil {
		return nil, err
	}
	names, values := f.names, f.locals
	if top := f.fn.Name() == "<toplevel>"; global || top {
		globals := h.globalsOf(f)
		values = globals
		names = append(slices.Clone(f.names), globals.Keys()...)
		if !top {
			names = globals.Keys()
		}
		for name, v := range f.locals {
			if values[name] == nil {
				values[name] = v
			}
		}
	}
	var list []Value
	for _, name := range names {
		if v := values[name]; v != nil {
			list = append(list, h.show(name, name, v))
		}
	}
	return list, nil
}

// globalsOf returns the global variables that a frame's function sees, in a dict of
// the caller's.
func (h *halts) globalsOf(f *frame) starlark.StringDict {
	all := starlark.StringDict{}
	if g := h.s.globals; g != nil {
		all = g.own()
	}
	for name, v := range f.fn.Globals() {
		all[name] = v
	}
	return all
}

// evaluate evaluates an expression with the names of a frame. It does not communicate.
func (h *halts) evaluate(s *snapshot, n int, expr string) (v starlark.Value, err error) {
	var f *frame
	if len(s.frames) > 0 {
		if f, err = s.frameOf(n); err != nil {
			return nil, err
		}
	}
	file, err := parseCore("<debug>", expr, 1)
	if err != nil {
		return nil, err
	}
	x := soleExpr(file)
	if x == nil {
		return nil, errors.New("want an expression, or an assignment")
	}
	err = protect(func() error {
		v, err = h.aside(func(t *starlark.Thread) (starlark.Value, error) { return newGlobals(h.namesOf(f)).eval(t, x) })
		return err
	})
	return v, err
}

// namesOf returns the names that a frame's function can use; those of no frame, nil, are those that
// the language has.
func (h *halts) namesOf(f *frame) starlark.StringDict {
	names := maps.Clone(h.predeclared)
	if f != nil {
		maps.Copy(names, h.globalsOf(f))
		maps.Copy(names, f.locals)
	}
	return names
}

// maxAside is how many steps an expression may take.
const maxAside = 50_000_000

// aside calls run with a thread of its own, as the rank does not communicate.
func (h *halts) aside(run func(*starlark.Thread) (starlark.Value, error)) (starlark.Value, error) {
	busy := h.busy
	h.busy = true
	defer func() { h.busy = busy }()
	t := &starlark.Thread{Name: "debug", Print: func(*starlark.Thread, string) {}}
	t.SetLocal(ScriptDir, h.thread.Local(ScriptDir))
	t.SetMaxExecutionSteps(maxAside)
	if e, ok := h.s.env.(Onlooker); ok {
		defer e.Aside(t)()
	}
	v, err := run(t)
	if left := h.s.env.Pending(); left != nil {
		if h.job.ctx.Err() == nil {
			h.thread.Uncancel()
		}
		err = errors.Join(err, left)
	}
	return v, err
}

// show returns a value as a debugger shows it.
func (h *halts) show(name, expr string, v starlark.Value) Value {
	out := Value{Name: text(name), Type: v.Type(), Expr: text(expr), Parts: h.partsOf(v)}
	err := protect(func() error {
		shown := v.String()
		out.Digest = text(v.Type() + " " + shown)
		if e, ok := h.s.env.(Onlooker); ok {
			if d := e.Digest(v); d != "" {
				out.Digest = text(d)
			}
		}
		if what := h.s.env.Describe(v); what != "" {
			shown = joined(what, shown)
		}
		if len(shown) > maxText {
			shown = shown[:maxText] + "..."
		}
		out.Text = text(shown)
		return h.s.env.Pending()
	})
	if err != nil {
		out.Text = text(err.Error())
		if h.job.ctx.Err() == nil {
			h.thread.Uncancel()
		}
	}
	return out
}

// joined returns the description of a tensor and its elements, which may be several lines.
func joined(what, shown string) string {
	if strings.Contains(shown, "\n") {
		return what + "\n" + shown
	}
	return shown + "  (" + what + ")"
}

// partsOf returns how many parts a value has that a debugger can show. A tensor shows
// its elements by itself.
func (h *halts) partsOf(v starlark.Value) int {
	if h.s.env.Describe(v) != "" {
		return 0
	}
	switch v := v.(type) {
	case starlark.String, *starlark.Builtin, *starlark.Function:
		return 0
	case starlark.IterableMapping:
		return len(v.Items())
	case *starlark.List:
		return v.Len()
	case starlark.Tuple:
		return v.Len()
	case starlark.HasAttrs:
		return len(v.AttrNames())
	}
	return 0
}

// parts returns the parts of a value: items, or attributes that are no functions.
func (h *halts) parts(expr string, v starlark.Value) []Value {
	var list []Value
	add := func(name, expr string, v starlark.Value) {
		if len(list) < maxParts {
			list = append(list, h.show(name, expr, v))
		}
	}
	switch v := v.(type) {
	case starlark.IterableMapping:
		for _, item := range v.Items() {
			key := item[0].String()
			add(key, fmt.Sprintf("(%s)[%s]", expr, key), item[1])
		}
	case starlark.Indexable:
		for i := range min(v.Len(), maxParts) {
			add(fmt.Sprint(i), fmt.Sprintf("(%s)[%d]", expr, i), v.Index(i))
		}
	case starlark.HasAttrs:
		for _, name := range v.AttrNames() {
			x, err := v.Attr(name)
			if _, method := x.(*starlark.Builtin); err == nil && x != nil && !method {
				add(name, fmt.Sprintf("(%s).%s", expr, name), x)
			}
		}
	}
	return list
}
