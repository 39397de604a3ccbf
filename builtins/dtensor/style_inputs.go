package dtensor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/nn"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// A preparation is what a style does to what goes into a module and what comes
// out.
type preparation struct {
	e    *builtins.Env
	mesh *mesh.Mesh
	by   string // the style or function that prepares
	at   string // the path of the module, as far as it is known
	in   func(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, []starlark.Tuple, error)
	out  func(thread *starlark.Thread, v starlark.Value) (starlark.Value, error)
}

// around implements Around.
func (p *preparation) around(next nn.Call) nn.Call {
	return func(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (out starlark.Value, err error) {
		if p.in != nil {
			if args, kwargs, err = p.in(thread, args, kwargs); err != nil {
				return nil, err
			}
		}
		if out, err = next(thread, args, kwargs); err != nil || p.out == nil {
			return out, err
		}
		before := out
		if out, err = p.out(thread, out); err != nil {
			return nil, err
		}
		return p.made(before, out)
	}
}

// made returns a result as a script gets it. One that was a distributed tensor and has
// become this rank's part of it knows whose part; a rank outside of the mesh has none,
// and gets an error.
func (p *preparation) made(before, after starlark.Value) (starlark.Value, error) {
	x, ok1 := before.(*builtins.Tensor)
	y, ok2 := after.(*builtins.Tensor)
	if !ok1 || !ok2 || x.T == nil || y.T == nil || !x.T.Placed() || y.T.Placed() {
		return after, nil
	}
	if !p.e.Runtime.Member(p.mesh) {
		return nil, &op.ArgError{Func: p.by, Got: "a call of the module on a rank outside of its mesh", Want: "one on a rank of " + p.mesh.String(), Rule: "its result is plain, and other ranks have no part of it; as a DTensor, by use_local_output=False, they may have it"}
	}
	if n := x.T.Ndim(); n > 0 && y.Lens == nil && y.T.Ndim() == n && y.T.Shape()[n-1] < x.T.Shape()[n-1] {
		y.Lens = &partLens{size: x.T.Shape()[n-1], ranks: p.mesh.Size(), by: p.by, at: p.at}
	}
	return y, nil
}

// A partLens is the Lens of this rank's part of what a module gives, cut along its
// last dim.
type partLens struct {
	builtins.PlainLens
	size, ranks int // of the last dim of the whole, and how many ranks share it
	by, at      string
}

// Explain implements builtins.ExplainingLens: what does not fit the part may not fit for
// the cut. Attention of few heads of keys and values meets it.
func (l *partLens) Explain(d *op.Def, err *op.ArgError) {
	if d.Name != "reshape" || err.Param != "shape" {
		return
	}
	what := "the module"
	if l.at != "" {
		what = fmt.Sprintf("%q", l.at)
	}
	err.Rule, _, _ = strings.Cut(err.Rule, ";")
	err.Rule += fmt.Sprintf(": a part of the %d outputs of %s, which %s cuts for %d ranks; each has to get whole heads, or groups, of them", l.size, what, l.by, l.ranks)
}

// prepare has m do to what goes in and comes out what s says.
func (p *planner) prepare(m *nn.Module, s *Style) {
	if p.checking {
		return
	}
	if s.kind == prepareBoth {
		for _, part := range s.parts {
			p.prepareLayouts(m, part)
		}
		return
	}
	if s.layouts != nil && s.kind != sequenceKind {
		p.prepareLayouts(m, s)
		return
	}
	prep := &preparation{e: p.e, mesh: p.mesh, by: s.kind.name, at: p.at}
	if s.in != nil {
		prep.in = func(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, []starlark.Tuple, error) {
			return eachInput(m, nil, args, kwargs, func(v starlark.Value, _, _ optPlacements) (starlark.Value, error) {
				if s.in.Name() == rowwiseKind.in {
					var err error
					if v, err = p.unevenInput(m, v); err != nil {
						return nil, err
					}
				}
				return starlark.Call(thread, s.in, starlark.Tuple{v, p.dm}, nil)
			})
		}
	}
	if s.out != nil {
		prep.out = func(thread *starlark.Thread, v starlark.Value) (starlark.Value, error) {
			return firstOf(m, v, func(v starlark.Value) (starlark.Value, error) {
				return starlark.Call(thread, s.out, starlark.Tuple{v, p.dm}, nil)
			})
		}
	}
	m.Around(prep.around)
}

// firstOf applies f to what a module has returned: of an attention's pair to the
// output alone.
func firstOf(m *nn.Module, v starlark.Value, f func(v starlark.Value) (starlark.Value, error)) (starlark.Value, error) {
	pair, ok := v.(starlark.Tuple)
	if m.Class != nn.AttentionClass || !ok || len(pair) == 0 {
		return f(v)
	}
	first, err := f(pair[0])
	if err != nil {
		return nil, err
	}
	return append(starlark.Tuple{first}, pair[1:]...), nil
}

// A prepared is a tensor that goes into a module, and what it is prepared as.
type prepared struct {
	x        *builtins.Tensor
	from, to optPlacements
	y        starlark.Value
}

// eachInput applies f to the tensors that go into m, with their placements in l, if that is not
// nil: of an attention to query, key and value alone. A tensor that goes in several times, with
// the same placements, is prepared once.
func eachInput(m *nn.Module, l *styleLayouts, args starlark.Tuple, kwargs []starlark.Tuple, f func(v starlark.Value, from, to optPlacements) (starlark.Value, error)) (starlark.Tuple, []starlark.Tuple, error) {
	var seen []prepared
	once := func(i int, name string, v starlark.Value) (starlark.Value, error) {
		x, ok := v.(*builtins.Tensor)
		if !ok {
			return v, nil
		}
		from, to := l.ofInput(i, name)
		for _, p := range seen {
			if p.x == x && reflect.DeepEqual(p.from, from) && reflect.DeepEqual(p.to, to) {
				return p.y, nil
			}
		}
		y, err := f(x, from, to)
		seen = append(seen, prepared{x, from, to, y})
		return y, err
	}
	out := append(starlark.Tuple(nil), args...)
	for i, v := range args {
		if m.Class == nn.AttentionClass && i > 2 {
			break
		}
		y, err := once(i, "", v)
		if err != nil {
			return nil, nil, err
		}
		out[i] = y
	}
	named := append([]starlark.Tuple(nil), kwargs...)
	for i, kw := range kwargs {
		name := string(kw[0].(starlark.String))
		if m.Class == nn.AttentionClass && name != "query" && name != "key" && name != "value" {
			continue
		}
		y, err := once(-1, name, kw[1])
		if err != nil {
			return nil, nil, err
		}
		named[i] = starlark.Tuple{kw[0], y}
	}
	return out, named, nil
}

// prepareLayouts is prepare of a style in today's form.
func (p *planner) prepareLayouts(m *nn.Module, s *Style) {
	if p.checking {
		return
	}
	l := s.layouts
	prep := &preparation{e: p.e, mesh: p.mesh, by: s.kind.name, at: p.at}
	if l.in != nil || len(l.kwIn) > 0 {
		local := s.kind == prepareIn && l.local
		prep.in = func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, []starlark.Tuple, error) {
			if s.kind == prepareIn && l.in != nil && len(l.in) != len(args) {
				return nil, nil, &op.ArgError{Func: m.Class.Name, Got: units.Count(len(args), "argument") + " by position", Want: units.Count(len(l.in), "argument"), Rule: "PrepareModuleInput has that many input_layouts"}
			}
			return eachInput(m, l, args, kwargs, func(v starlark.Value, from, to optPlacements) (starlark.Value, error) {
				if s.kind == rowwiseKind && slices.Equal(from.V.list, []mesh.Placement{mesh.Shard(-1)}) {
					var err error
					if v, err = p.unevenInput(m, v); err != nil {
						return nil, err
					}
				}
				return layout(p.e, s.kind.name, v, p.mesh, from, to, local)
			})
		}
	}
	if l.after != nil {
		prep.out = func(_ *starlark.Thread, v starlark.Value) (starlark.Value, error) {
			return p.results(s, v)
		}
	}
	m.Around(prep.around)
}

// ofInput returns the placements that the argument at place i, or if that is negative the one
// called name, is taken for and brought to.
func (l *styleLayouts) ofInput(i int, name string) (from, to optPlacements) {
	switch {
	case l == nil || i >= len(l.in):
		return optPlacements{}, optPlacements{}
	case i < 0:
		return l.kwIn[name], l.kwDesired[name]
	}
	return l.in[i], l.desired[min(i, len(l.desired)-1)]
}

// unevenInput returns v, which goes into m, as a distributed tensor if it is this
// rank's block of the inputs of a Linear that do not divide evenly: the weight
// says how many they are, which the block alone does not.
func (p *planner) unevenInput(m *nn.Module, v starlark.Value) (starlark.Value, error) {
	x, ok := v.(*builtins.Tensor)
	w, weighted := m.Get("weight").(*builtins.Tensor)
	if !ok || !weighted || m.Class != nn.LinearClass {
		return v, nil
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	features := w.T.Shape()[1]
	if t.Placed() || len(t.Shape()) == 0 || features%p.mesh.Size() == 0 {
		return v, nil
	}
	s := append(shape.Shape{}, t.Shape()...)
	s[len(s)-1] = features
	l, err := layoutArgs(p.e, p.fn, p.mesh, s, optPlacements{V: only(mesh.Shard(-1)), Set: true})
	if err != nil {
		return nil, err
	}
	if !t.Shape().Equal(p.e.Runtime.Shard.LocalShape(l)) {
		return v, nil
	}
	y, err := p.e.Runtime.Shard.Join(t, l)
	if err != nil {
		return nil, err
	}
	return p.e.Wrap(y), nil
}

// results brings what a module has returned to the layouts of s.
func (p *planner) results(s *Style, v starlark.Value) (starlark.Value, error) {
	l := s.layouts
	from := l.out
	if from == nil { // the results are distributed tensors already
		from = l.after
	}
	tuple, several := v.(starlark.Tuple)
	if !several {
		return layout(p.e, s.kind.name, v, p.mesh, from[0], l.after[0], l.local)
	}
	if len(l.after) != len(tuple) && len(l.after) != 1 {
		return nil, &op.ArgError{Func: s.kind.name, Got: units.Count(len(tuple), "result"), Want: units.Count(len(l.after), "result"), Rule: "one for each of the layouts"}
	}
	out := append(starlark.Tuple(nil), tuple...)
	for i := range min(len(l.after), len(tuple)) {
		y, err := layout(p.e, s.kind.name, tuple[i], p.mesh, from[i], l.after[i], l.local)
		if err != nil {
			return nil, err
		}
		out[i] = y
	}
	return out, nil
}
