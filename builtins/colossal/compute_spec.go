package colossal

import (
	"errors"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A ComputeSpec says how operators compute with a ColoTensor as weight.
type ComputeSpec struct {
	env       *builtins.Env
	pattern   builtins.Enum // of ComputePattern
	replicate bool          // a column-parallel operator gathers its result
	frozen    bool
}

var (
	_ starlark.HasSetField = (*ComputeSpec)(nil)
	_ starlark.Comparable  = (*ComputeSpec)(nil)
	_ arg.Described        = (*ComputeSpec)(nil)
)

// String returns s as a script writes it.
func (s *ComputeSpec) String() string {
	return "ComputeSpec(" + s.pattern.String() + ", output_replicate=" + builtins.PyBool(s.replicate) + ")"
}

func (s *ComputeSpec) Describe() string     { return s.String() }
func (s *ComputeSpec) Type() string         { return "ComputeSpec" }
func (s *ComputeSpec) Freeze()              { s.frozen = true }
func (s *ComputeSpec) Truth() starlark.Bool { return true }
func (s *ComputeSpec) AttrNames() []string  { return builtins.AttrNames("ComputeSpec") }
func (s *ComputeSpec) Attr(name string) (starlark.Value, error) {
	return s.env.Attr("ComputeSpec", s, name)
}

// Hash implements starlark.Value.
func (s *ComputeSpec) Hash() (uint32, error) {
	return 0, builtins.Unhashable(s)
}

// CompareSameType implements starlark.Comparable.
func (s *ComputeSpec) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	o := v.(*ComputeSpec)
	return builtins.Equality("ComputeSpec", cmp, s.pattern == o.pattern && s.replicate == o.replicate)
}

// SetField implements starlark.HasSetField: output_replicate can be assigned.
func (s *ComputeSpec) SetField(name string, v starlark.Value) error {
	if name != "output_replicate" {
		return starlark.NoSuchAttrError("can't assign to ." + name + " of a ComputeSpec")
	}
	var flag arg.Bool
	if err := arg.Set(name, name, &flag, v); err != nil {
		return err
	}
	return s.setReplicate(bool(flag))
}

// setReplicate sets output_replicate.
func (s *ComputeSpec) setReplicate(flag bool) error {
	if s.frozen && flag != s.replicate {
		return errors.New("set_output_replicate: cannot change a frozen ComputeSpec")
	}
	s.replicate = flag
	return nil
}

// computeSpecArg is an argument that is a ComputeSpec.
type computeSpecArg struct{ *ComputeSpec }

// Unpack implements starlark.Unpacker.
func (p *computeSpecArg) Unpack(v starlark.Value) error {
	s, ok := v.(*ComputeSpec)
	if !ok {
		return arg.Bad(v, "a ComputeSpec", "")
	}
	p.ComputeSpec = s
	return nil
}

// patternArg is an argument that is a member of ComputePattern.
type patternArg struct{ builtins.Enum }

// Unpack implements starlark.Unpacker.
func (p *patternArg) Unpack(v starlark.Value) (err error) {
	p.Enum, err = builtins.ToEnum("ComputePattern", v)
	return err
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "ComputeSpec",
		Doc: "ComputeSpec(compute_pattern, output_replicate=True) returns how operators compute with a ColoTensor as weight.\n" +
			"compute_pattern is a member of ComputePattern; operators know TP1D. With output_replicate a\n" +
			"column-parallel operator gathers its result; without, it leaves it sharded on the last dim.\n" +
			">>> ComputeSpec(ComputePattern.TP1D)\nComputeSpec(ComputePattern.TP1D, output_replicate=True)",
		Fn: newComputeSpec,
	}, &builtins.Row{
		Name: "ComputeSpec.compute_pattern",
		Doc:  "compute_pattern is the member of ComputePattern.\n>>> ComputeSpec(ComputePattern.TP1D).compute_pattern\nComputePattern.TP1D",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			return x.(*ComputeSpec).pattern, nil
		},
	}, &builtins.Row{
		Name: "ComputeSpec.output_replicate",
		Doc: "output_replicate is whether a column-parallel operator gathers its result. It can be assigned.\n" +
			">>> ComputeSpec(ComputePattern.TP1D).output_replicate\nTrue",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			return starlark.Bool(x.(*ComputeSpec).replicate), nil
		},
	}, &builtins.Row{
		Name: "ComputeSpec.set_output_replicate",
		Doc: "set_output_replicate(flag=True) returns None and sets output_replicate.\n" +
			">>> spec = ComputeSpec(ComputePattern.TP1D)\n>>> spec.set_output_replicate(False)\n>>> spec.output_replicate\nFalse",
		Fn: setOutputReplicate,
	})
	builtins.RegisterEnum("ComputePattern", "ComputePattern holds the ways to compute with a sharded weight: TP1D, TP2D, TP2P5D and TP3D.\n"+
		"Operators know TP1D and refuse the others.\n>>> ComputePattern.TP1D != ComputePattern.TP2D\nTrue", []builtins.EnumMember{
		{Name: "TP1D", Doc: "tensor parallelism along one dim: rows or columns of a weight."},
		{Name: "TP2D", Doc: "tensor parallelism in two dims, which operators refuse."},
		{Name: "TP2P5D", Doc: "tensor parallelism in two and a half dims, which operators refuse."},
		{Name: "TP3D", Doc: "tensor parallelism in three dims, which operators refuse."},
	})
	builtins.RegisterEnum("TensorType", "TensorType holds the kinds of ColoTensors: MODEL, which a ColoParameter is, and NONMODEL, which any other is.\n"+
		">>> TensorType.MODEL == TensorType.NONMODEL\nFalse", []builtins.EnumMember{
		{Name: "MODEL", Doc: "the kind of a ColoParameter."},
		{Name: "NONMODEL", Doc: "the kind of a ColoTensor that is no ColoParameter."},
	})
}

func newComputeSpec(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var pattern patternArg
	replicate := arg.Bool(true)
	if err := arg.Unpack(b.Name(), args, kwargs, "compute_pattern", &pattern, "output_replicate?", &replicate); err != nil {
		return nil, err
	}
	return &ComputeSpec{env: e, pattern: pattern.Enum, replicate: bool(replicate)}, nil
}

func setOutputReplicate(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	flag := arg.Bool(true)
	if err := arg.Unpack(b.Name(), args, kwargs, "flag?", &flag); err != nil {
		return nil, err
	}
	return starlark.None, b.Receiver().(*ComputeSpec).setReplicate(bool(flag))
}
