package builtins

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/mesh"
	"tpsh/runtime/timeline"
)

// keepNamed notes the distributed tensors that have a name when a program has ended:
// globals, and the parameters of modules.
func keepNamed(e *Env, globals starlark.StringDict) {
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
	t.Blocks = blocksOf(l)
	return t, true
}

// blocksOf returns the blocks of a layout, each once, with the ranks that hold it.
func blocksOf(l *mesh.Placed) []timeline.Block {
	var list []timeline.Block
	at := map[string]int{}
	for _, rank := range l.Ranks() {
		box, ok := l.Box(rank)
		if !ok || box.Numel() == 0 {
			continue
		}
		key := fmt.Sprint(box.Lo, box.Hi)
		if i, known := at[key]; known {
			list[i].Ranks = append(list[i].Ranks, rank)
			continue
		}
		at[key] = len(list)
		list = append(list, timeline.Block{Lo: box.Lo, Hi: box.Hi, Ranks: []int{rank}})
	}
	return list
}
