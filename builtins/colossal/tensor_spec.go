package colossal

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A ColoTensorSpec says on which group a ColoTensor lies, how it is cut, and
// how operators compute with it.
type ColoTensorSpec struct {
	env     *builtins.Env
	pg      *ProcessGroup
	dist    *DistSpec
	compute *ComputeSpec // nil for none
	frozen  bool
}

var (
	_ starlark.HasSetField = (*ColoTensorSpec)(nil)
	_ starlark.Comparable  = (*ColoTensorSpec)(nil)
	_ arg.Described        = (*ColoTensorSpec)(nil)
)

// String returns s as a script writes it.
func (s *ColoTensorSpec) String() string {
	text := fmt.Sprintf("ColoTensorSpec(%v, dist_attr=%v", s.pg, s.dist)
	if s.compute != nil {
		text += fmt.Sprintf(", compute_attr=%v", s.compute)
	}
	return text + ")"
}

func (s *ColoTensorSpec) Describe() string     { return "a ColoTensorSpec with " + s.dist.String() }
func (s *ColoTensorSpec) Type() string         { return "ColoTensorSpec" }
func (s *ColoTensorSpec) Truth() starlark.Bool { return true }
func (s *ColoTensorSpec) AttrNames() []string  { return builtins.AttrNames("ColoTensorSpec") }
func (s *ColoTensorSpec) Attr(name string) (starlark.Value, error) {
	return s.env.Attr("ColoTensorSpec", s, name)
}

// Freeze implements starlark.Value.
func (s *ColoTensorSpec) Freeze() {
	if s.frozen {
		return
	}
	s.frozen = true
	s.pg.Freeze()
	if s.compute != nil {
		s.compute.Freeze()
	}
}

// SetField implements starlark.HasSetField: the three fields can be assigned. What
// does not fit together is an error of the function that is given the spec.
func (s *ColoTensorSpec) SetField(name string, v starlark.Value) error {
	fn := "ColoTensorSpec." + name
	if s.frozen {
		return fmt.Errorf("%s: cannot change a frozen ColoTensorSpec", fn)
	}
	switch name {
	case "pg":
		var pg processGroupArg
		if err := arg.In(fn, "", pg.Unpack(v)); err != nil {
			return err
		}
		s.pg = pg.ProcessGroup
	case "dist_attr":
		var d distSpecArg
		if err := arg.In(fn, "", d.Unpack(v)); err != nil {
			return err
		}
		s.dist = d.DistSpec
	case "compute_attr":
		if v == starlark.None {
			s.compute = nil
			return nil
		}
		var c computeSpecArg
		if err := arg.In(fn, "", c.Unpack(v)); err != nil {
			return err
		}
		s.compute = c.ComputeSpec
	default:
		return starlark.NoSuchAttrError("ColoTensorSpec has no ." + name + " to assign to: it has .pg, .dist_attr and .compute_attr")
	}
	return nil
}

// Hash implements starlark.Value.
func (s *ColoTensorSpec) Hash() (uint32, error) {
	return 0, builtins.Unhashable(s)
}

// CompareSameType implements starlark.Comparable. Specs are equal if their
// fields are.
func (s *ColoTensorSpec) CompareSameType(cmp syntax.Token, v starlark.Value, depth int) (bool, error) {
	o := v.(*ColoTensorSpec)
	same, err := starlark.EqualDepth(starlark.Tuple{s.pg, s.dist, s.computeAttr()}, starlark.Tuple{o.pg, o.dist, o.computeAttr()}, depth)
	if err != nil {
		return false, err
	}
	return builtins.Equality("ColoTensorSpec", cmp, same)
}

// computeAttr returns the ComputeSpec or None.
func (s *ColoTensorSpec) computeAttr() starlark.Value {
	if s.compute == nil {
		return starlark.None
	}
	return s.compute
}

// tensorSpecArg is an argument that is a ColoTensorSpec.
type tensorSpecArg struct{ *ColoTensorSpec }

// Unpack implements starlark.Unpacker.
func (p *tensorSpecArg) Unpack(v starlark.Value) error {
	s, ok := v.(*ColoTensorSpec)
	if !ok {
		return arg.Bad(v, "a ColoTensorSpec", "")
	}
	p.ColoTensorSpec = s
	return nil
}

func init() {
	const example = ">>> spec = ColoTensorSpec(ProcessGroup(tp_degree=1), ShardSpec([0], [1]))\n"
	row := func(name, doc, want string, get func(s *ColoTensorSpec) starlark.Value) *builtins.Row {
		return &builtins.Row{Name: "ColoTensorSpec." + name, Doc: doc + example + ">>> spec." + name + "\n" + want,
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) { return get(x.(*ColoTensorSpec)), nil }}
	}
	builtins.Register(&builtins.Row{
		Name: "ColoTensorSpec",
		Doc: "ColoTensorSpec(pg, dist_attr=ReplicaSpec(), compute_attr=None) returns what a ColoTensor is to be: on which ProcessGroup, how it is cut, and how operators compute with it.\n" +
			"None for pg stands for ProcessGroup(). The product of the num_partitions of a ShardSpec is\n" +
			"the tensor-parallel degree of pg, or else that is an error. Specs are equal if their three\n" +
			"attributes are, which can be assigned.\n" + example +
			">>> spec == ColoTensorSpec(ProcessGroup(tp_degree=1), ShardSpec([0], [1]))\nTrue",
		Fn: newColoTensorSpec,
	}, row("pg", "pg is the ProcessGroup.\n", "ProcessGroup(ranks=[0], tp_degree=1, dp_degree=1)",
		func(s *ColoTensorSpec) starlark.Value { return s.pg },
	), row("dist_attr", "dist_attr is the ShardSpec or ReplicaSpec.\n", "ShardSpec([0], [1])",
		func(s *ColoTensorSpec) starlark.Value { return s.dist },
	), row("compute_attr", "compute_attr is the ComputeSpec, or None.\n", "",
		(*ColoTensorSpec).computeAttr,
	))
}

func newColoTensorSpec(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		pg      starlark.Value
		dist    = distSpecArg{replicaSpec(e)}
		compute computeSpecArg
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "pg", &pg, "dist_attr??", &dist, "compute_attr??", &compute); err != nil {
		return nil, err
	}
	var group processGroupArg
	if pg == starlark.None {
		all, err := defaultProcessGroup(e)
		if err != nil {
			return nil, err
		}
		group = processGroupArg{all}
	} else if err := arg.Set(b.Name(), "pg", &group, pg); err != nil {
		return nil, err
	}
	if err := checkSpec(b.Name(), "dist_attr", group.ProcessGroup, dist.DistSpec); err != nil {
		return nil, err
	}
	return &ColoTensorSpec{env: e, pg: group.ProcessGroup, dist: dist.DistSpec, compute: compute.ComputeSpec}, nil
}
