package dtensor

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/nn"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// cannot says that a style does not suit a module.
func (p *planner) cannot(m *nn.Module, at string, s *Style, want string) error {
	if at != "" {
		at = fmt.Sprintf(" at %q", at)
	}
	return &op.ArgError{Func: p.fn, Param: "parallelize_plan", Got: fmt.Sprintf("%s for a %s%s", s.kind.name, m.Class.Name, at), Want: want}
}

// apply applies s to m, which is at a path.
func (p *planner) apply(m *nn.Module, at string, s *Style) error {
	if err := m.MayChange(p.fn); err != nil {
		return err
	}
	switch s.kind {
	case colwiseKind, rowwiseKind:
		if err := p.cut(m, at, s, s.kind == colwiseKind); err != nil {
			return err
		}
		p.prepare(m, s.suiting(m))
		return nil
	case sequenceKind:
		switch m.Class {
		case nn.LayerNormClass, nn.RmsNormClass, nn.DropoutClass:
			return p.alongSequence(m, s)
		}
		fallthrough
	case pairwiseKind:
		done, err := p.pairs(m, s)
		if err == nil && !done && s.kind == sequenceKind && m.Class == nn.ScriptClass { // a norm of the script's
			return p.alongSequence(m, s)
		}
		if err == nil && !done {
			err = p.cannot(m, at, s, "a module with several Linears or an attention in it")
		}
		return err
	}
	p.prepare(m, s)
	return nil
}

// cut cuts the parameters of a Linear or an Embedding.
func (p *planner) cut(m *nn.Module, at string, s *Style, colwise bool) error {
	weight, bias := mesh.Shard(1), mesh.Replicate()
	switch {
	case m.Class == nn.LinearClass && colwise:
		weight, bias = mesh.Shard(0), mesh.Shard(0)
	case m.Class == nn.EmbeddingClass && !colwise:
		weight = mesh.Shard(0)
	case m.Class != nn.LinearClass && m.Class != nn.EmbeddingClass:
		return p.cannot(m, at, s, "a Linear or an Embedding")
	}
	if err := p.place(m, "weight", weight); err != nil {
		return err
	}
	return p.place(m, "bias", bias)
}

// place makes the parameter called name a distributed tensor; if it is None or
// there is none, it does nothing.
func (p *planner) place(m *nn.Module, name string, placement mesh.Placement) error {
	if m.Computes(name) {
		return &op.ArgError{Func: p.fn, Param: "module", Got: "a " + m.Class.Name + " whose " + name + " is computed of parametrizations." + name, Want: "one whose " + name + " is a parameter", Rule: "nn.utils.parametrize.remove_parametrizations makes it one"}
	}
	x, ok := m.Get(name).(*builtins.Tensor)
	if !ok {
		return nil
	}
	return p.placeParameter(m.Class.Name+"."+name, x, placement)
}

// placeParameter makes x, a parameter, a distributed tensor with the values that
// the first rank of the mesh has, or checks that it can be one.
func (p *planner) placeParameter(name string, x *builtins.Tensor, placement mesh.Placement) error {
	l, err := layoutOfParameter(p.e, p.fn, name, x, p.mesh, placement)
	if err != nil || l == nil {
		return err
	}
	if !p.checking {
		return distributeParameter(p.e, p.fn, x, l, p.src)
	}
	if was := p.promised[x]; was != nil && !was.Equal(l) {
		return liesAlready(p.fn, name, was)
	}
	p.promised[x] = l
	return nil
}

// layoutOfParameter returns the layout by which x, a parameter, is to lie on m, nil
// if it does.
func layoutOfParameter(e *builtins.Env, fn, name string, x *builtins.Tensor, m *mesh.Mesh, placement mesh.Placement) (*mesh.Placed, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	l, err := layoutArgs(e, fn, m, t.Shape(), optPlacements{V: only(placement), Set: true})
	if err != nil {
		return nil, err
	}
	if !t.Placed() {
		return l, nil
	}
	if t.Layout().Equal(l) {
		return nil, nil
	}
	return nil, liesAlready(fn, name, t.Layout())
}

// liesAlready says that a parameter is a distributed tensor, as another style has
// it.
func liesAlready(fn, name string, l *mesh.Placed) error {
	return &op.ArgError{Func: fn, Got: fmt.Sprintf("the parameter %s, which lies as %s on %s already", name, mesh.List(l.Placements()), l.Mesh().Short()), Want: "a plain parameter"}
}

// firstPlace is the place of a mesh whose data are taken where nothing is said.
var firstPlace = arg.OptInt{Set: true}

// distributeParameter makes x, a plain parameter, one that lies as l, with the
// values that the rank at place src of l's mesh has. It keeps what is called with its
// gradients.
func distributeParameter(e *builtins.Env, fn string, x *builtins.Tensor, l *mesh.Placed, src arg.OptInt) error {
	y, err := distribute(e, fn, x.T, l, src)
	if err != nil {
		return err
	}
	return builtins.ReplaceParameter(fn, x, y)
}

// alongSequence is today's SequenceParallel.
func (p *planner) alongSequence(m *nn.Module, s *Style) error {
	for _, x := range m.Parameters("", true) {
		if err := p.placeParameter(m.Class.Name+"."+x.Path, x.X, mesh.Replicate()); err != nil {
			return err
		}
	}
	p.prepareLayouts(m, s)
	return nil
}

// pairs applies a PairwiseParallel, or PyTorch 2.0's SequenceParallel, to m and the
// modules below it. It reports whether it has found anything to do.
func (p *planner) pairs(m *nn.Module, s *Style) (done bool, err error) {
	if m.Class == nn.AttentionClass {
		return true, p.attention(m, s)
	}
	var linears []*nn.Module
	for _, f := range m.Fields {
		if child := nn.ModuleOf(f.Value); child != nil && f.Kind == nn.ModuleField && child.Class == nn.LinearClass {
			linears = append(linears, child)
		}
	}
	if n := len(linears) / 2 * 2; n > 0 {
		done = true
		for i, child := range linears[:n] {
			if err := p.cut(child, "", s, i%2 == 0); err != nil {
				return done, err
			}
		}
		first, last := s.ends()
		p.prepare(linears[0], &first)
		p.prepare(linears[n-1], &last)
	}
	for _, f := range m.Fields {
		child := nn.ModuleOf(f.Value)
		if child == nil || f.Kind != nn.ModuleField || child.Class == nn.LinearClass {
			continue
		}
		below, err := p.pairs(child, s)
		if err != nil {
			return done, err
		}
		done = done || below
	}
	return done, nil
}

// ends returns s as it is for the first Linear of several, whose input it prepares,
// and for the last, whose output it prepares.
func (s *Style) ends() (first, last Style) {
	own := *s.ofLinears()
	first, last = own, own
	first.out, last.in = nil, nil
	if l := own.layouts; l != nil && own.kind != sequenceKind {
		in, out := *l, *l
		in.after, out.in = nil, nil
		first.layouts, last.layouts = &in, &out
	}
	return first, last
}

// ofLinears returns s as it is for Linears and attentions: a SequenceParallel with
// placements of its own prepares them as a PairwiseParallel does.
func (s *Style) ofLinears() *Style {
	if s.linears == nil {
		return s
	}
	own := *s
	own.kind, own.layouts = pairwiseKind, s.linears
	return &own
}

// attention divides the heads of an attention among the ranks: the projections of
// queries, keys and values are cut by their outputs, that of the output by its
// inputs.
func (p *planner) attention(m *nn.Module, s *Style) error {
	heads, err := arg.ToInt(m.Get("num_heads"))
	if err != nil {
		return arg.In(p.fn, "num_heads", err)
	}
	if n := p.mesh.Size(); heads%n != 0 {
		return p.cannot(m, "", s, fmt.Sprintf("a number of heads that %d divides, not %d: the ranks of %s share them", n, heads, p.mesh.String()))
	}
	if err := p.unpack(m, s); err != nil {
		return err
	}
	for i := range nn.ProjectionNames {
		if err := p.place(m, nn.ProjectionNames[i], mesh.Shard(0)); err != nil {
			return err
		}
		if err := p.place(m, nn.ProjectionBiases[i], mesh.Shard(0)); err != nil {
			return err
		}
	}
	for _, name := range nn.LearnedNames {
		if err := p.place(m, name, mesh.Shard(2)); err != nil {
			return err
		}
	}
	out := nn.ModuleOf(m.Get("out_proj"))
	if out == nil {
		return p.cannot(m, "", s, "an attention whose out_proj is a Linear")
	}
	if err := p.cut(out, "", s, false); err != nil {
		return err
	}
	p.prepare(m, s.ofLinears())
	return nil
}

// unpack puts the packed projections of an attention into parameters of their own:
// the ranks' parts of the packed ones would not be blocks.
func (p *planner) unpack(m *nn.Module, s *Style) error {
	for _, packed := range []struct {
		name  string
		parts [3]string
	}{{"in_proj_weight", nn.ProjectionNames}, {"in_proj_bias", nn.ProjectionBiases}} {
		x, ok := m.Get(packed.name).(*builtins.Tensor)
		if !ok {
			continue
		}
		t, err := x.Tensor()
		if err != nil {
			return err
		}
		if t.Auto != nil && len(t.Auto.Hooks) > 0 {
			return p.cannot(m, "", s, "an attention with no hook on its "+packed.name+", which becomes several parameters: replicate and register_hook come after")
		}
		if p.checking {
			continue
		}
		parts, err := p.e.Runtime.Apply(op.Lookup("chunk"), []*tensor.Tensor{t.Detach()}, []op.Arg{op.Int1(3), op.Int1(0)})
		if err != nil {
			return err
		}
		for i, part := range parts {
			y, err := p.e.Runtime.Do("clone", []*tensor.Tensor{part})
			if err != nil {
				return err
			}
			v := p.e.Wrap(y)
			v.Parameter = true
			if t.RequiresGrad() {
				if err := builtins.RequireGrad(p.fn, y); err != nil {
					return err
				}
			}
			m.Put(nn.Field{Name: packed.parts[i], Kind: nn.ParameterField, Value: v})
		}
		m.Put(nn.Field{Name: packed.name, Kind: nn.ParameterField, Value: starlark.None})
	}
	return nil
}
