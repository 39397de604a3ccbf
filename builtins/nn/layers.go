package nn

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The classes of layers that are a function of F of what they are called with
// and of their own fields.
var (
	LinearClass    = &class{Name: "Linear", forward: linearForward, shows: []string{"in_features", "out_features", "bias"}}
	EmbeddingClass = &class{Name: "Embedding", forward: applies("embedding", "input", "weight", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq"), shows: []string{"num_embeddings", "embedding_dim", "padding_idx", "max_norm"}, bare: 2}
	LayerNormClass = &class{Name: "LayerNorm", forward: applies("layer_norm", "input", "normalized_shape", "weight", "bias", "eps"), shows: []string{"normalized_shape", "eps", "elementwise_affine"}, bare: 1}
	RmsNormClass   = &class{Name: "RMSNorm", forward: applies("rms_norm", "input", "normalized_shape", "weight", "eps"), shows: []string{"normalized_shape", "eps", "elementwise_affine"}, bare: 1}
	DropoutClass   = &class{Name: "Dropout", forward: applies("dropout", "input", "p", "training"), shows: []string{"p"}}
	reluClass      = &class{Name: "ReLU", forward: applies("relu", "input")}
	geluClass      = &class{Name: "GELU", forward: applies("gelu", "input", "approximate"), shows: []string{"approximate"}}
	siluClass      = &class{Name: "SiLU", forward: applies("silu", "input")}
)

// applies returns the forward function of a class: the function called name of
// F, of the argument called input and of the fields of the names that its
// parameters have.
func applies(name, input string, fields ...string) forwardFunc {
	return func(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x starlark.Value
		if err := arg.Unpack(m.Class.Name, args, kwargs, input, &x); err != nil {
			return nil, err
		}
		return m.apply(name, starlark.Tuple{x}, fields...)
	}
}

// linearForward applies a Linear, and blames the input where that does not fit.
func linearForward(m *Module, t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	y, err := applies("linear", "input", "weight", "bias")(m, t, args, kwargs)
	var bad *op.ArgError
	if !errors.As(err, &bad) || bad.Func != "linear" || bad.Param != "weight" || len(args) == 0 {
		return y, err
	}
	if in, err := m.Attr("in_features"); err == nil && in != nil {
		return nil, &op.ArgError{Func: m.Class.Name, Param: "input", Got: arg.Show(args[0]), Want: fmt.Sprintf("a last dim of size %v", in), Rule: "in_features"}
	}
	return y, err
}

// apply calls the function called name of F with args and with the fields of
// the names that its parameters have.
func (m *Module) apply(name string, args starlark.Tuple, fields ...string) (starlark.Value, error) {
	kwargs := make([]starlark.Tuple, len(fields))
	for i, f := range fields {
		v, err := m.Attr(f)
		if err != nil {
			return nil, err
		}
		kwargs[i] = starlark.Tuple{starlark.String(f), v}
	}
	return builtins.CallF(m.env, name, args, kwargs)
}

// A count is an argument that is a number of things.
type count int

// Unpack implements starlark.Unpacker.
func (p *count) Unpack(v starlark.Value) error {
	n, err := arg.ToInt(v)
	if err == nil && n < 0 {
		err = arg.Bad(v, "a non-negative int", "")
	}
	*p = count(n)
	return err
}

// A probability is an argument from 0 to 1.
type probability float64

// Unpack implements starlark.Unpacker.
func (p *probability) Unpack(v starlark.Value) error {
	if err := (*arg.Float)(p).Unpack(v); err != nil {
		return err
	}
	if !(*p >= 0 && *p <= 1) {
		return arg.Bad(v, "a number from 0 to 1", "")
	}
	return nil
}

// plain gives fields that are neither parameters nor modules: pairs
// alternates names and values.
func (m *Module) plain(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		m.Put(Field{pairs[i].(string), PlainField, pairs[i+1].(starlark.Value)})
	}
}

func newLinear(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		in, out count
		bias    arg.Bool = true
		dt      arg.OptDType
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "in_features", &in, "out_features", &out, "bias?", &bias, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	return linear(e, b.Name(), int(in), int(out), bool(bias), dt)
}

// linear returns a Linear for the constructor fn.
func linear(e *builtins.Env, fn string, in, out int, bias bool, dt arg.OptDType) (*Module, error) {
	m := newModule(e, LinearClass)
	m.plain("in_features", starlark.MakeInt(in), "out_features", starlark.MakeInt(out))
	mk, err := newMaker(e, fn, m, dt)
	if err != nil {
		return nil, err
	}
	return m, mk.linear(out, in, bias)
}

func newEmbedding(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		n, dim  count
		padding arg.OptInt
		rows    = newRowLimits()
		dt      arg.OptDType
	)
	pairs := append([]any{"num_embeddings", &n, "embedding_dim", &dim, "padding_idx?", &padding}, rows.pairs()...)
	if err := arg.Unpack(b.Name(), args, kwargs, append(pairs, "dtype?", &dt, "device?", builtins.Device{})...); err != nil {
		return nil, err
	}
	m := newModule(e, EmbeddingClass)
	m.plain("num_embeddings", starlark.MakeInt(int(n)), "embedding_dim", starlark.MakeInt(int(dim)), "padding_idx", starlark.None)
	rows.keep(m)
	mk, err := newMaker(e, b.Name(), m, dt)
	if err != nil {
		return nil, err
	}
	return m, mk.rows(int(n), int(dim), padding)
}

// embedded returns an Embedding whose rows are those of a tensor, which it shares.
func embedded(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x       builtins.OneTensor
		freeze  = arg.Bool(true)
		padding arg.OptInt
		rows    = newRowLimits()
	)
	if err := arg.Unpack(b.Name(), args, kwargs, append([]any{"embeddings", &x, "freeze?", &freeze, "padding_idx?", &padding}, rows.pairs()...)...); err != nil {
		return nil, err
	}
	m := newModule(e, EmbeddingClass)
	rows.keep(m)
	return m, pretrained(m, b.Name(), x.T, !bool(freeze), padding)
}

// rowLimits are what an Embedding does to the rows that it is asked for, and their gradients.
type rowLimits struct {
	norm   arg.OptFloat // their greatest norm
	order  arg.Float    // of that norm
	byFreq arg.Bool     // gradients are divided by how often a row is asked for
	sparse arg.Bool     // accepted; gradients are dense
}

func newRowLimits() *rowLimits { return &rowLimits{order: 2} }

// pairs returns the parameters of a constructor.
func (r *rowLimits) pairs() []any {
	return []any{"max_norm?", &r.norm, "norm_type?", &r.order, "scale_grad_by_freq?", &r.byFreq, "sparse?", &r.sparse}
}

// keep gives m the fields.
func (r *rowLimits) keep(m *Module) {
	m.plain("max_norm", starlark.None, "norm_type", starlark.Float(r.order), "scale_grad_by_freq", starlark.Bool(r.byFreq), "sparse", starlark.Bool(r.sparse))
	if r.norm.Set {
		m.plain("max_norm", starlark.Float(r.norm.V))
	}
}

// pretrained makes t the weight of m, an embedding, for the function fn. requires
// says whether it requires grad.
func pretrained(m *Module, fn string, t *tensor.Tensor, requires bool, padding arg.OptInt) error {
	if t.Ndim() != 2 || !t.DType().IsFloat() {
		return arg.In(fn, "embeddings", arg.Bad(m.env.Wrap(t), "a float tensor of two dims", "a row for each index"))
	}
	s := t.Shape()
	m.plain("num_embeddings", starlark.MakeInt(s[0]), "embedding_dim", starlark.MakeInt(s[1]), "padding_idx", starlark.None)
	if padding.Set {
		row, ok := shape.Dim(int(padding.V), s[0])
		if !ok {
			return &op.ArgError{Func: fn, Param: "padding_idx", Got: fmt.Sprint(padding.V), Want: fmt.Sprintf("%d..%d", -s[0], s[0]-1), Rule: builtins.ThereAre(s[0], "row")}
		}
		m.plain("padding_idx", starlark.MakeInt(row))
	}
	w, err := asParameter(m.env, fn, t, requires)
	if err == nil {
		m.Put(Field{"weight", ParameterField, w})
	}
	return err
}

// padding fills row i of w, the weight of an Embedding, with zeros.
func (mk *maker) padding(w *tensor.Tensor, i int) error {
	n := w.Shape()[0]
	row, ok := shape.Dim(i, n)
	if !ok {
		return &op.ArgError{Func: mk.fn, Param: "padding_idx", Got: fmt.Sprint(i), Want: fmt.Sprintf("%d..%d", -n, n-1), Rule: builtins.ThereAre(n, "row")}
	}
	mk.m.plain("padding_idx", starlark.MakeInt(row))
	part, err := mk.do("narrow", []*tensor.Tensor{w}, op.Int1(0), op.Int1(row), op.Int1(1))
	if err != nil {
		return err
	}
	return zero(mk.m.env, part)
}

func newLayerNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		s            arg.Shape
		eps          = arg.Float(1e-5)
		affine, bias = arg.Bool(true), arg.Bool(true)
		dt           arg.OptDType
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "normalized_shape", &s, "eps?", &eps, "elementwise_affine?", &affine, "bias?", &bias, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	return layerNorm(e, b.Name(), s, float64(eps), bool(affine), bool(bias), dt)
}

// layerNorm returns a LayerNorm for the constructor fn.
func layerNorm(e *builtins.Env, fn string, s []int, eps float64, affine, bias bool, dt arg.OptDType) (*Module, error) {
	m := newModule(e, LayerNormClass)
	m.plain("normalized_shape", builtins.ShapeTuple(s), "eps", starlark.Float(eps), "elementwise_affine", starlark.Bool(affine))
	mk, err := newMaker(e, fn, m, dt)
	if err != nil {
		return nil, err
	}
	mk.none("weight")
	mk.none("bias")
	if affine {
		if err := mk.constant("weight", "ones", s...); err != nil {
			return nil, err
		}
		if bias {
			return m, mk.constant("bias", "zeros", s...)
		}
	}
	return m, nil
}

func newRMSNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		s      arg.Shape
		eps    arg.OptFloat
		affine = arg.Bool(true)
		dt     arg.OptDType
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "normalized_shape", &s, "eps?", &eps, "elementwise_affine?", &affine, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	m := newModule(e, RmsNormClass)
	m.plain("normalized_shape", builtins.ShapeTuple(shape.Shape(s)), "eps", starlark.None, "elementwise_affine", starlark.Bool(affine))
	if eps.Set {
		m.plain("eps", starlark.Float(eps.V))
	}
	mk, err := newMaker(e, b.Name(), m, dt)
	if err != nil {
		return nil, err
	}
	mk.none("weight")
	if !affine {
		return m, nil
	}
	return m, mk.constant("weight", "ones", s...)
}

func newDropout(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p := probability(0.5)
	if err := arg.Unpack(b.Name(), args, kwargs, "p?", &p); err != nil {
		return nil, err
	}
	return dropout(e, p), nil
}

// dropout returns a Dropout.
func dropout(e *builtins.Env, p probability) *Module {
	m := newModule(e, DropoutClass)
	m.plain("p", starlark.Float(p))
	return m
}

func newGELU(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var approximate starlark.Value = starlark.String("none")
	if err := arg.Unpack(b.Name(), args, kwargs, "approximate?", &approximate); err != nil {
		return nil, err
	}
	if err := builtins.CheckChoice(b.Name(), "approximate", "gelu", approximate); err != nil {
		return nil, err
	}
	m := newModule(e, geluClass)
	m.plain("approximate", approximate)
	return m, nil
}

// withoutArguments returns the constructor of a class whose modules are all
// alike.
func withoutArguments(c *class) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return newModule(e, c), arg.Unpack(b.Name(), args, kwargs)
	}
}
