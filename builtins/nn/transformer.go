package nn

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

var (
	encoderLayerClass = &class{Name: "TransformerEncoderLayer", forward: runEncoderLayer}
	decoderLayerClass = &class{Name: "TransformerDecoderLayer", forward: runDecoderLayer}
)

const docLayer = "activation is \"relu\", \"gelu\" or a function. With norm_first the norms come before each\n" +
	"part and not after each sum. Parameters are drawn in the order in which it has them.\n"

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.TransformerEncoderLayer",
		Doc: "TransformerEncoderLayer(d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=\"relu\", layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, dtype=None, device=None) returns a module of self-attention and two linear layers, each added to its input and normalised.\n" +
			"A call m(src, src_mask=None, src_key_padding_mask=None, is_causal=False) maps [l, n,\n" +
			"d_model], or with batch_first [n, l, d_model], to the same; masks are those of\n" +
			"MultiheadAttention. Its modules are self_attn, linear1, dropout, linear2, norm1, norm2,\n" +
			"dropout1 and dropout2.\n" + docLayer + docDType + "\n" +
			">>> m = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)\n" +
			">>> m(ones(3, 2, 8)).shape\n(3, 2, 8)",
		Fn: newTransformerLayer(encoderLayerClass),
	}, &builtins.Row{
		Name: "nn.TransformerDecoderLayer",
		Doc: "TransformerDecoderLayer(d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=\"relu\", layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, dtype=None, device=None) returns a module of self-attention, attention to a memory and two linear layers, each added to its input and normalised.\n" +
			"A call m(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,\n" +
			"memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False) maps [l, n,\n" +
			"d_model] and a memory [s, n, d_model], or with batch_first n first, to [l, n, d_model];\n" +
			"masks are those of MultiheadAttention. Its modules are self_attn, multihead_attn,\n" +
			"linear1, dropout, linear2, norm1, norm2, norm3, dropout1, dropout2 and dropout3.\n" + docLayer + docDType + "\n" +
			">>> m = nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)\n" +
			">>> m(ones(3, 2, 8), ones(5, 2, 8)).shape\n(3, 2, 8)",
		Fn: newTransformerLayer(decoderLayerClass),
	})
}

// A layerSpec is what a transformer layer is made with.
type layerSpec struct {
	model, heads     count
	feedforward      count
	dropout          probability
	activation       starlark.Value
	eps              arg.Float
	batchFirst, bias arg.Bool
	normFirst        arg.Bool
	dt               arg.OptDType
}

// newTransformerLayer returns the constructor of class c.
func newTransformerLayer(c *class) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		s := &layerSpec{feedforward: 2048, dropout: 0.1, activation: starlark.String("relu"), eps: 1e-5, bias: true}
		if err := arg.Unpack(b.Name(), args, kwargs, "d_model", &s.model, "nhead", &s.heads, "dim_feedforward?", &s.feedforward,
			"dropout?", &s.dropout, "activation?", &s.activation, "layer_norm_eps?", &s.eps, "batch_first?", &s.batchFirst,
			"norm_first?", &s.normFirst, "bias?", &s.bias, "dtype?", &s.dt, "device?", builtins.Device{}); err != nil {
			return nil, err
		}
		return transformerLayer(e, b.Name(), c, s)
	}
}

// transformerLayer returns a layer of class c, for the function fn.
func transformerLayer(e *builtins.Env, fn string, c *class, s *layerSpec) (*Module, error) {
	activation, err := activation(s.activation)
	if err != nil {
		return nil, arg.In(fn, "activation", err)
	}
	m := newModule(e, c)
	l := &layerMaker{e, fn, m, s, nil}
	l.layers(c == decoderLayerClass)
	if l.err != nil {
		return nil, l.err
	}
	m.plain("norm_first", starlark.Bool(s.normFirst))
	return m, m.assign("activation", activation)
}

// activation returns v, the name of an activation or a function, as a function.
func activation(v starlark.Value) (starlark.Value, error) {
	switch name, _ := starlark.AsString(v); name {
	case "relu", "gelu":
		return builtins.FunctionOfF(name), nil
	}
	if _, ok := v.(starlark.Callable); !ok {
		return nil, arg.Bad(v, `"relu", "gelu" or a function`, "")
	}
	return v, nil
}

// A layerMaker makes the modules of a transformer layer, until an error.
type layerMaker struct {
	e   *builtins.Env
	fn  string
	m   *Module
	s   *layerSpec
	err error
}

// layers makes the modules in the order in which PyTorch has them.
func (l *layerMaker) layers(decoder bool) {
	l.attention("self_attn")
	norms := 2
	if decoder {
		l.attention("multihead_attn")
		norms = 3
	}
	l.linear("linear1", int(l.s.feedforward), int(l.s.model))
	l.add("dropout", dropout(l.e, l.s.dropout), nil)
	l.linear("linear2", int(l.s.model), int(l.s.feedforward))
	for i := range norms {
		if l.err != nil {
			return
		}
		norm, err := layerNorm(l.e, l.fn, []int{int(l.s.model)}, float64(l.s.eps), true, bool(l.s.bias), l.s.dt)
		l.add(fmt.Sprintf("norm%d", i+1), norm, err)
	}
	for i := range norms {
		l.add(fmt.Sprintf("dropout%d", i+1), dropout(l.e, l.s.dropout), nil)
	}
}

// add adds a module, unless there is an error.
func (l *layerMaker) add(name string, child *Module, err error) {
	if l.err == nil {
		l.err = err
	}
	if l.err == nil {
		l.m.Put(Field{name, ModuleField, child})
	}
}

func (l *layerMaker) attention(name string) {
	if l.err == nil {
		model := int(l.s.model)
		child, err := attention(l.e, l.fn, "nhead", attentionSpec{embed: model, heads: int(l.s.heads), k: model, v: model, dropout: l.s.dropout, bias: bool(l.s.bias), batchFirst: bool(l.s.batchFirst), dt: l.s.dt})
		l.add(name, child, err)
	}
}

func (l *layerMaker) linear(name string, out, in int) {
	if l.err == nil {
		child, err := linear(l.e, l.fn, in, out, bool(l.s.bias), l.s.dt)
		l.add(name, child, err)
	}
}

// A layerCall is a call of a transformer layer, until an error.
type layerCall struct {
	m      *Module
	thread *starlark.Thread
	err    error
}

// call calls the fields called names in turn, each with what the one before
// returned.
func (c *layerCall) call(x starlark.Value, names ...string) starlark.Value {
	for _, name := range names {
		if c.err == nil {
			x, c.err = c.m.callField(c.thread, name, x)
		}
	}
	return x
}

// add returns x + y.
func (c *layerCall) add(x, y starlark.Value) starlark.Value {
	if c.err == nil {
		x, c.err = starlark.Binary(syntax.PLUS, x, y)
	}
	return x
}

// A maskSet is the masks that a layer gives to an attention.
type maskSet struct {
	mask, padding, causal starlark.Value
}

// newMaskSet returns masks that hide nothing.
func newMaskSet() maskSet { return maskSet{starlark.None, starlark.None, starlark.False} }

// attend calls an attention that needs no weights, and returns its output.
func (c *layerCall) attend(name string, query, key starlark.Value, masks maskSet) starlark.Value {
	if c.err != nil {
		return nil
	}
	v, err := c.m.callFieldWith(c.thread, name, []starlark.Tuple{
		{starlark.String("attn_mask"), masks.mask},
		{starlark.String("key_padding_mask"), masks.padding},
		{starlark.String("need_weights"), starlark.False},
		{starlark.String("is_causal"), masks.causal},
	}, query, key, key)
	pair, ok := v.(starlark.Tuple)
	switch {
	case err != nil:
		c.err = err
	case !ok || len(pair) == 0:
		c.err = &op.ArgError{Func: c.m.Class.Name + "." + name, Got: "a result of " + arg.Show(v), Want: "a tuple (output, weights)"}
	default:
		return pair[0]
	}
	return nil
}

// part is a part of a layer: what it makes of x is added to x, and either x is
// normalised before or the sum after.
func (c *layerCall) part(x starlark.Value, norm string, f func(x starlark.Value) starlark.Value) starlark.Value {
	if c.err == nil && c.m.Get("norm_first") == starlark.True {
		return c.add(x, f(c.call(x, norm)))
	}
	return c.call(c.add(x, f(x)), norm)
}

func runEncoderLayer(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var src starlark.Value
	masks := newMaskSet()
	if err := arg.Unpack(m.Class.Name, args, kwargs, "src", &src, "src_mask?", &masks.mask,
		"src_key_padding_mask?", &masks.padding, "is_causal?", &masks.causal); err != nil {
		return nil, err
	}
	c := &layerCall{m, thread, nil}
	x := c.part(src, "norm1", func(x starlark.Value) starlark.Value {
		return c.call(c.attend("self_attn", x, x, masks), "dropout1")
	})
	x = c.part(x, "norm2", func(x starlark.Value) starlark.Value {
		return c.call(x, "linear1", "activation", "dropout", "linear2", "dropout2")
	})
	return x, c.err
}

func runDecoderLayer(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var tgt, memory starlark.Value
	own, others := newMaskSet(), newMaskSet()
	if err := arg.Unpack(m.Class.Name, args, kwargs, "tgt", &tgt, "memory", &memory, "tgt_mask?", &own.mask, "memory_mask?", &others.mask,
		"tgt_key_padding_mask?", &own.padding, "memory_key_padding_mask?", &others.padding,
		"tgt_is_causal?", &own.causal, "memory_is_causal?", &others.causal); err != nil {
		return nil, err
	}
	c := &layerCall{m, thread, nil}
	x := c.part(tgt, "norm1", func(x starlark.Value) starlark.Value {
		return c.call(c.attend("self_attn", x, x, own), "dropout1")
	})
	x = c.part(x, "norm2", func(x starlark.Value) starlark.Value {
		return c.call(c.attend("multihead_attn", x, memory, others), "dropout2")
	})
	x = c.part(x, "norm3", func(x starlark.Value) starlark.Value {
		return c.call(x, "linear1", "activation", "dropout", "linear2", "dropout3")
	})
	return x, c.err
}
