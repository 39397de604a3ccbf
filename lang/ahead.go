package lang

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/lang/operator"
)

// A dict that is full moves within the one step that sets an element of it, to twice the room, and
// nobody can stop it there. So a program of which much memory is in use looks, once in a while, for dicts that
// may move until it looks again, and asks for their room ahead.

// aheadEvery is the number of steps between such looks, and setsAhead how many elements they may set.
const (
	aheadEvery = 32 * checkEvery
	setsAhead  = aheadEvery / 4
)

// crowded reports whether so much memory is in use that programs look ahead.
func (w *Watch) crowded() bool { return w != nil && w.many.Load() }

// lookAhead ends the programs if there is no room for the dicts of a thread that may soon move.
func (w *Watch) lookAhead(t *starlark.Thread) {
	s := &search{left: mostSeen, seen: map[starlark.Value]bool{}}
	files := map[string]bool{}
	for i := range min(t.CallStackDepth(), mostCalls) {
		f := t.DebugFrame(i)
		for k := range f.NumLocals() {
			_, v := f.Local(k)
			s.look(v, 0)
		}
		fn, ok := f.Callable().(*starlark.Function)
		if !ok {
			continue
		}
		for k := range fn.NumFreeVars() {
			_, v := fn.FreeVar(k)
			s.look(v, 0)
		}
		if file := fn.Position().Filename(); !files[file] {
			files[file] = true
			for _, v := range fn.Globals() {
				s.look(v, 0)
			}
		}
	}
	if s.most > 0 {
		w.admit(int(s.most))
	}
}

// A search is for dicts among the values of a program: where variables have them, and not deeply
// within others.
type search struct {
	left int // how many values more are looked at
	seen map[starlark.Value]bool
	most uint // the bytes that the one asks for which asks for most
}

const (
	// mostSeen is how many values a search looks at, mostDeep how deeply within others, and
	// mostCalls in how many calls, the innermost.
	mostSeen  = 5000
	mostDeep  = 3
	mostCalls = 100
)

// look looks at v, so deep within what a variable has.
func (s *search) look(v starlark.Value, depth int) {
	switch v.(type) {
	case *starlark.Dict, *starlark.List, *starlarkstruct.Struct:
	default:
		return
	}
	if s.seen[v] {
		return
	}
	s.seen[v] = true
	switch v := v.(type) {
	case *starlark.Dict:
		s.most = max(s.most, operator.Moves(v, setsAhead))
		if depth < mostDeep && s.affords(v.Len()) {
			for _, x := range v.Entries() {
				s.look(x, depth+1)
			}
		}
	case *starlark.List:
		if depth < mostDeep && s.affords(v.Len()) {
			for x := range v.Elements() {
				s.look(x, depth+1)
			}
		}
	case *starlarkstruct.Struct:
		names := v.AttrNames()
		if depth < mostDeep && s.affords(len(names)) {
			for _, name := range names {
				if x, err := v.Attr(name); err == nil {
					s.look(x, depth+1)
				}
			}
		}
	}
}

// affords reports whether n values more may be looked at.
func (s *search) affords(n int) bool {
	if n > s.left {
		return false
	}
	s.left -= n
	return true
}
