package dtensor

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// A mixedPrecision says in which dtypes a module that fully_shard was given computes and communicates:
// PyTorch's MixedPrecisionPolicy. What is not set is as it comes.
type mixedPrecision struct {
	env                   *builtins.Env
	param, reduce, output arg.OptDType
	castInputs            bool
}

var (
	_ starlark.HasAttrs   = (*mixedPrecision)(nil)
	_ starlark.Comparable = (*mixedPrecision)(nil)
	_ arg.Described       = (*mixedPrecision)(nil)
)

const examplePolicy = ">>> policy = MixedPrecisionPolicy(param_dtype=bfloat16, reduce_dtype=float32)\n"

func init() {
	builtins.Register(&builtins.Row{Name: "MixedPrecisionPolicy", Fn: newMixedPrecision,
		Doc: "MixedPrecisionPolicy(param_dtype=None, reduce_dtype=None, output_dtype=None, cast_forward_inputs=True) returns what fully_shard takes as mp_policy.\n" +
			"Float parameters are gathered in param_dtype, and so computed with; what ranks store, gradients, states and optimisers keep the dtype\n" +
			"of the parameters. Gradients are reduced in reduce_dtype: None is for that of the parameters, as in PyTorch since 2.15. Float tensors among the\n" +
			"arguments of a call of the module that fully_shard was given are cast to param_dtype, unless cast_forward_inputs is False, and\n" +
			"those that it returns to output_dtype. None leaves a dtype as it is.\n" +
			examplePolicy +
			">>> m = fully_shard(nn.Linear(2, 3), DeviceMesh(\"cpu\", [0]), mp_policy=policy)\n>>> y = m(ones(4, 2))\n>>> y.sum().backward()\n>>> y.dtype, m.weight.dtype, m.weight.grad.dtype\n(bfloat16, float32, float32)"},
		policyRow("param_dtype", "param_dtype is the dtype in which parameters are gathered, or None.\n"+examplePolicy+">>> policy.param_dtype\nbfloat16",
			func(p *mixedPrecision) starlark.Value { return dtypeOrNone(p.param) }),
		policyRow("reduce_dtype", "reduce_dtype is the dtype in which gradients are reduced, or None.\n"+examplePolicy+">>> policy.reduce_dtype\nfloat32",
			func(p *mixedPrecision) starlark.Value { return dtypeOrNone(p.reduce) }),
		policyRow("output_dtype", "output_dtype is the dtype of what the module returns, or None.\n"+examplePolicy+">>> policy.output_dtype == None\nTrue",
			func(p *mixedPrecision) starlark.Value { return dtypeOrNone(p.output) }),
		policyRow("cast_forward_inputs", "cast_forward_inputs is whether arguments are cast to param_dtype.\n"+examplePolicy+">>> policy.cast_forward_inputs\nTrue",
			func(p *mixedPrecision) starlark.Value { return starlark.Bool(p.castInputs) }),
	)
}

// policyRow returns a row for an attribute of policies.
func policyRow(name, doc string, get func(p *mixedPrecision) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "MixedPrecisionPolicy." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*mixedPrecision)), nil
	}}
}

func dtypeOrNone(dt arg.OptDType) starlark.Value {
	if !dt.Set {
		return starlark.None
	}
	return builtins.DtypeOf(dt.V.D)
}

func newMixedPrecision(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, cast := &mixedPrecision{env: e}, arg.Bool(true)
	if err := arg.Unpack(b.Name(), args, kwargs, "param_dtype?", &p.param, "reduce_dtype?", &p.reduce, "output_dtype?", &p.output, "cast_forward_inputs?", &cast); err != nil {
		return nil, err
	}
	for i, dt := range []arg.OptDType{p.param, p.reduce, p.output} {
		if dt.Set && !dt.V.D.IsFloat() {
			return nil, &op.ArgError{Func: b.Name(), Param: []string{"param_dtype", "reduce_dtype", "output_dtype"}[i], Got: dt.V.D.String(), Want: "a float dtype", Rule: "it is for parameters, their gradients and activations"}
		}
	}
	p.castInputs = bool(cast)
	return p, nil
}

// String returns the policy as a script makes it.
func (p *mixedPrecision) String() string {
	return fmt.Sprintf("MixedPrecisionPolicy(param_dtype=%v, reduce_dtype=%v, output_dtype=%v, cast_forward_inputs=%v)",
		dtypeOrNone(p.param), dtypeOrNone(p.reduce), dtypeOrNone(p.output), starlark.Bool(p.castInputs))
}

// Describe implements arg.Described.
func (p *mixedPrecision) Describe() string { return p.String() }

func (p *mixedPrecision) Type() string          { return "MixedPrecisionPolicy" }
func (p *mixedPrecision) Freeze()               {} // it cannot be changed
func (p *mixedPrecision) Truth() starlark.Bool  { return true }
func (p *mixedPrecision) Hash() (uint32, error) { return starlark.String(p.String()).Hash() }
func (p *mixedPrecision) AttrNames() []string   { return builtins.AttrNames("MixedPrecisionPolicy") }
func (p *mixedPrecision) Attr(name string) (starlark.Value, error) {
	return p.env.Attr("MixedPrecisionPolicy", p, name)
}

// CompareSameType implements starlark.Comparable.
func (p *mixedPrecision) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	return builtins.Equality("MixedPrecisionPolicy", cmp, p.String() == v.String())
}

// dtypes returns in which dtypes parameters of dtype dt are gathered and their gradients reduced.
// p may be nil.
func (p *mixedPrecision) dtypes(dt dtype.DType) runtime.GroupDTypes {
	d := runtime.GroupDTypes{Gather: dt, Reduce: dt}
	if p == nil || !dt.IsFloat() {
		return d
	}
	if p.param.Set {
		d.Gather = p.param.V.D
	}
	if p.reduce.Set {
		d.Reduce = p.reduce.V.D
	}
	return d
}

// around calls run with args and kwargs cast as p says, and casts what it returns.
func (p *mixedPrecision) around(e *builtins.Env, args starlark.Tuple, kwargs []starlark.Tuple, run func(starlark.Tuple, []starlark.Tuple) (starlark.Value, error)) (starlark.Value, error) {
	if p.castInputs && p.param.Set {
		list, err := castFloats(e, args, p.param.V.D)
		if err != nil {
			return nil, err
		}
		args = list.(starlark.Tuple)
		named := make([]starlark.Tuple, len(kwargs))
		for i, kw := range kwargs {
			v, err := castFloats(e, kw[1], p.param.V.D)
			if err != nil {
				return nil, err
			}
			named[i] = starlark.Tuple{kw[0], v}
		}
		kwargs = named
	}
	out, err := run(args, kwargs)
	if err != nil || !p.output.Set {
		return out, err
	}
	return castFloats(e, out, p.output.V.D)
}

// castFloats returns v with the float tensors in it in dtype dt.
func castFloats(e *builtins.Env, v starlark.Value, dt dtype.DType) (starlark.Value, error) {
	return mapTensors(v, func(x *builtins.Tensor) (*builtins.Tensor, error) {
		t, err := x.Tensor()
		if err != nil || !t.DType().IsFloat() || t.DType() == dt {
			return x, err
		}
		y, err := toDType(e, t, dt)
		if err != nil {
			return nil, err
		}
		return e.Wrap(y), nil
	})
}

// precisionArg is an argument that is a MixedPrecisionPolicy.
type precisionArg struct{ *mixedPrecision }

// Unpack implements starlark.Unpacker.
func (p *precisionArg) Unpack(v starlark.Value) error {
	policy, ok := v.(*mixedPrecision)
	if !ok {
		return arg.Bad(v, "a MixedPrecisionPolicy", "")
	}
	p.mixedPrecision = policy
	return nil
}

// offloadArg is an argument that says where tensors go that are not in use. There is nowhere.
type offloadArg struct{}

// Unpack implements starlark.Unpacker.
func (*offloadArg) Unpack(v starlark.Value) error {
	if v == starlark.None {
		return nil
	}
	return arg.Bad(v, "None", "parameters are in the memory of the processor already: there is nothing to offload")
}
