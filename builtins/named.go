package builtins

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/runtime/timeline"
)

// Keep implements lang.Keeper: if the timeline is to tell of them, it notes the
// distributed tensors that have a name when a program has ended: globals, and the
// parameters of modules.
func (e *Env) Keep(globals starlark.StringDict) {
	if !e.Options.Timeline.Whole {
		return
	}
	names := map[*Tensor]string{}
	for _, h := range e.holders {
		h.Holdings(func(path string, x *Tensor) { longer(names, x, path) }, func(*Tensor) {})
	}
	for name, v := range globals {
		switch v := v.(type) {
		case *Tensor:
			names[v] = name
		case Holder:
			v.Holdings(func(path string, x *Tensor) { longer(names, x, JoinPath(name, path)) }, func(*Tensor) {})
		}
	}
	e.named = nil
	for x, name := range names {
		if t, ok := namedTensor(name, x); ok {
			e.named = append(e.named, t)
		}
	}
	slices.SortFunc(e.named, func(a, b timeline.Tensor) int { return strings.Compare(a.Name, b.Name) })
}

// longer gives x the name unless it has a longer one: a parameter has the path from
// the outermost module that holds it.
func longer(names map[*Tensor]string, x *Tensor, name string) {
	if old, ok := names[x]; !ok || len(name) > len(old) {
		names[x] = name
	}
}

// namedTensor describes x, if ranks hold it together.
func namedTensor(name string, x *Tensor) (t timeline.Tensor, ok bool) {
	if x.T == nil || !x.T.Placed() {
		return t, false
	}
	l := x.T.Layout()
	t = timeline.Tensor{Name: name, DType: x.T.DType().String(), Shape: l.Shape(), Mesh: l.Mesh().Shape(), Dims: l.Mesh().Names(), Ranks: l.Mesh().Ranks()}
	for _, p := range l.Placements() {
		t.Placements = append(t.Placements, p.Script())
	}
	return t, true
}
