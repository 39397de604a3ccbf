package nn

import "go.starlark.net/starlark"

// A Call computes what a call of a module returns.
type Call func(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// An Around is what runs around a call: it returns a Call that calls next. For
// example, a parallel style distributes the arguments, calls next with them, and
// brings its result back.
type Around func(next Call) Call

// Around has f run around the forward function of m, inside of what was added
// before. The hooks of m see what comes out.
func (m *Module) Around(f Around) { m.around = append(m.around, f) }

// Outside has f run around all of a call of m, its hooks included.
func (m *Module) Outside(f Around) { m.outside = append(m.outside, f) }

// within returns next with list around it, the first outermost.
func within(list []Around, next Call) Call {
	for i := len(list) - 1; i >= 0; i-- {
		next = list[i](next)
	}
	return next
}

// Mark notes v about m under key, of a type of the vocabulary that does so.
func (m *Module) Mark(key, v any) {
	if m.marks == nil {
		m.marks = map[any]any{}
	}
	m.marks[key] = v
}

// Marked returns what was noted about m under key, or nil.
func (m *Module) Marked(key any) any { return m.marks[key] }
