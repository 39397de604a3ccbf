package nn

import (
	"fmt"
	"math"
	"strconv"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

var (
	encoderClass     = &class{Name: "TransformerEncoder", forward: runEncoder}
	decoderClass     = &class{Name: "TransformerDecoder", forward: runDecoder}
	transformerClass = &class{Name: "Transformer", forward: runTransformer}
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.TransformerEncoder",
		Doc: "TransformerEncoder(encoder_layer, num_layers, norm=None) returns a module of num_layers copies of encoder_layer, each called with what the one before returned, and then of norm, if it is not None.\n" +
			"A call m(src, mask=None, src_key_padding_mask=None, is_causal=False) gives each layer the\n" +
			"masks; see TransformerEncoderLayer. Its modules are layers, a ModuleList, and norm. The\n" +
			"copies begin with equal parameters.\n" +
			">>> m = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, dim_feedforward=16), 3)\n" +
			">>> m(ones(3, 2, 8)).shape\n(3, 2, 8)",
		Fn: newStack(encoderClass, "encoder_layer"),
	}, &builtins.Row{
		Name: "nn.TransformerDecoder",
		Doc: "TransformerDecoder(decoder_layer, num_layers, norm=None) returns a module of num_layers copies of decoder_layer, each called with what the one before returned and the memory, and then of norm, if it is not None.\n" +
			"A call m(tgt, memory, ...) takes what TransformerDecoderLayer takes. Its modules are\n" +
			"layers, a ModuleList, and norm. The copies begin with equal parameters.\n" +
			">>> m = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, dim_feedforward=16), 2)\n" +
			">>> m(ones(3, 2, 8), ones(5, 2, 8)).shape\n(3, 2, 8)",
		Fn: newStack(decoderClass, "decoder_layer"),
	}, &builtins.Row{
		Name: "nn.Transformer",
		Doc: "Transformer(d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation=\"relu\", custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, dtype=None, device=None) returns a module of an encoder and a decoder (Vaswani et al., 2017).\n" +
			"A call m(src, tgt, src_mask=None, tgt_mask=None, memory_mask=None,\n" +
			"src_key_padding_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,\n" +
			"src_is_causal=False, tgt_is_causal=False, memory_is_causal=False) gives what decoder makes\n" +
			"of tgt and of what encoder makes of src. encoder and decoder are custom ones, or\n" +
			"TransformerEncoder and TransformerDecoder with a LayerNorm. Every parameter of two dims or\n" +
			"more is drawn by nn.init.xavier_uniform_. " + docDType + "\n" +
			">>> m = nn.Transformer(8, 2, 1, 1, dim_feedforward=16)\n" +
			">>> m(ones(5, 2, 8), ones(3, 2, 8)).shape\n(3, 2, 8)",
		Fn: newTransformer,
	}, &builtins.Row{
		Name: "nn.Transformer.generate_square_subsequent_mask", Static: true,
		Doc: "generate_square_subsequent_mask(sz, dtype=None, device=None) returns a mask [sz, sz] with 0 on and below its diagonal and -inf above: a place sees none that come later.\n" +
			">>> nn.Transformer.generate_square_subsequent_mask(2).tolist()\n[[0.0, -inf], [0.0, 0.0]]",
		Fn: squareMask,
	})
}

// newStack returns the constructor of class c, whose layers are copies of the argument
// called layer.
func newStack(c *class, layer string) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			v            starlark.Value
			n            count
			norm         starlark.Value = starlark.None
			nested, mask arg.Bool       // of PyTorch, which computes the same without
		)
		if err := arg.Unpack(b.Name(), args, kwargs, layer, &v, "num_layers", &n, "norm?", &norm, "enable_nested_tensor?", &nested, "mask_check?", &mask); err != nil {
			return nil, err
		}
		one := ModuleOf(v)
		if one == nil {
			return nil, arg.In(b.Name(), layer, arg.Bad(v, "a module", ""))
		}
		return stack(e, b.Name(), c, one, int(n), norm)
	}
}

// stack returns a module of class c with n copies of layer and a norm.
func stack(e *builtins.Env, fn string, c *class, layer *Module, n int, norm starlark.Value) (*Module, error) {
	if norm != starlark.None && ModuleOf(norm) == nil {
		return nil, arg.In(fn, "norm", arg.Bad(norm, "a module or None", ""))
	}
	layers := newList(e, ModuleListClass)
	for i := range n {
		one, err := layer.copied(fn)
		if err != nil {
			return nil, err
		}
		layers.Put(Field{strconv.Itoa(i), ModuleField, one})
	}
	m := newModule(e, c)
	m.Put(Field{"layers", ModuleField, layers})
	m.plain("num_layers", starlark.MakeInt(n))
	m.Put(Field{"norm", ModuleField, norm})
	return m, nil
}

// through calls the layers of m in turn, and its norm.
func (m *Module) through(thread *starlark.Thread, x starlark.Value, rest starlark.Tuple, masks []starlark.Tuple) (starlark.Value, error) {
	layers, ok := m.Get("layers").(*listModule)
	if !ok {
		return nil, &op.ArgError{Func: m.Class.Name + ".layers", Got: arg.Show(m.Get("layers")), Want: "a ModuleList"}
	}
	var err error
	for _, f := range layers.elements() {
		if x, err = starlark.Call(thread, f.Value, append(starlark.Tuple{x}, rest...), masks); err != nil {
			return nil, err
		}
	}
	if m.Get("norm") == starlark.None {
		return x, nil
	}
	return m.callField(thread, "norm", x)
}

// keywords returns names and values as arguments by name.
func keywords(names []string, values []starlark.Value) []starlark.Tuple {
	list := make([]starlark.Tuple, len(names))
	for i, name := range names {
		list[i] = starlark.Tuple{starlark.String(name), values[i]}
	}
	return list
}

// truthOf returns v, or False for None.
func truthOf(v starlark.Value) starlark.Value {
	if v == nil || v == starlark.None {
		return starlark.False
	}
	return v
}

func runEncoder(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var src, causal starlark.Value
	masks := newMaskSet()
	if err := arg.Unpack(m.Class.Name, args, kwargs, "src", &src, "mask?", &masks.mask, "src_key_padding_mask?", &masks.padding, "is_causal?", &causal); err != nil {
		return nil, err
	}
	return m.through(thread, src, nil, keywords([]string{"src_mask", "src_key_padding_mask", "is_causal"}, []starlark.Value{masks.mask, masks.padding, truthOf(causal)}))
}

// decoderMasks are the arguments of a decoder after the memory, and of its layers.
var decoderMasks = []string{"tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask", "tgt_is_causal", "memory_is_causal"}

func runDecoder(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var tgt, memory, ownCausal, otherCausal starlark.Value
	own, other := newMaskSet(), newMaskSet()
	if err := arg.Unpack(m.Class.Name, args, kwargs, "tgt", &tgt, "memory", &memory, "tgt_mask?", &own.mask, "memory_mask?", &other.mask,
		"tgt_key_padding_mask?", &own.padding, "memory_key_padding_mask?", &other.padding, "tgt_is_causal?", &ownCausal, "memory_is_causal?", &otherCausal); err != nil {
		return nil, err
	}
	return m.through(thread, tgt, starlark.Tuple{memory}, keywords(decoderMasks,
		[]starlark.Value{own.mask, other.mask, own.padding, other.padding, truthOf(ownCausal), truthOf(otherCausal)}))
}

func newTransformer(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s := &layerSpec{model: 512, heads: 8, feedforward: 2048, dropout: 0.1, activation: starlark.String("relu"), eps: 1e-5, bias: true}
	layers := [2]count{6, 6}
	custom := [2]starlark.Value{starlark.None, starlark.None}
	if err := arg.Unpack(b.Name(), args, kwargs, "d_model?", &s.model, "nhead?", &s.heads, "num_encoder_layers?", &layers[0], "num_decoder_layers?", &layers[1],
		"dim_feedforward?", &s.feedforward, "dropout?", &s.dropout, "activation?", &s.activation, "custom_encoder?", &custom[0], "custom_decoder?", &custom[1],
		"layer_norm_eps?", &s.eps, "batch_first?", &s.batchFirst, "norm_first?", &s.normFirst, "bias?", &s.bias, "dtype?", &s.dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	m := newModule(e, transformerClass)
	for i, name := range []string{"encoder", "decoder"} {
		part := custom[i]
		if part == starlark.None {
			var err error
			if part, err = transformerPart(e, b.Name(), s, i == 1, int(layers[i])); err != nil {
				return nil, err
			}
		}
		if ModuleOf(part) == nil {
			return nil, arg.In(b.Name(), "custom_"+name, arg.Bad(part, "a module or None", ""))
		}
		m.Put(Field{name, ModuleField, part})
	}
	m.plain("d_model", starlark.MakeInt(int(s.model)), "nhead", starlark.MakeInt(int(s.heads)), "batch_first", starlark.Bool(s.batchFirst))
	for _, p := range m.Parameters("", true) {
		if t, err := p.X.Tensor(); err != nil || t.Ndim() < 2 {
			continue
		}
		if _, err := starlark.Call(thread, builtins.Lookup("nn.init.xavier_uniform_"), starlark.Tuple{p.X}, nil); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// transformerPart returns the encoder or the decoder of a Transformer.
func transformerPart(e *builtins.Env, fn string, s *layerSpec, decoder bool, n int) (starlark.Value, error) {
	layer, whole := encoderLayerClass, encoderClass
	if decoder {
		layer, whole = decoderLayerClass, decoderClass
	}
	one, err := transformerLayer(e, fn, layer, s)
	if err != nil {
		return nil, err
	}
	norm, err := layerNorm(e, fn, []int{int(s.model)}, float64(s.eps), true, bool(s.bias), s.dt)
	if err != nil {
		return nil, err
	}
	return stack(e, fn, whole, one, n, norm)
}

func runTransformer(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var src, tgt, srcCausal, tgtCausal, memoryCausal starlark.Value
	from, own, other := newMaskSet(), newMaskSet(), newMaskSet()
	if err := arg.Unpack(m.Class.Name, args, kwargs, "src", &src, "tgt", &tgt, "src_mask?", &from.mask, "tgt_mask?", &own.mask, "memory_mask?", &other.mask,
		"src_key_padding_mask?", &from.padding, "tgt_key_padding_mask?", &own.padding, "memory_key_padding_mask?", &other.padding,
		"src_is_causal?", &srcCausal, "tgt_is_causal?", &tgtCausal, "memory_is_causal?", &memoryCausal); err != nil {
		return nil, err
	}
	memory, err := m.callFieldWith(thread, "encoder", keywords([]string{"mask", "src_key_padding_mask", "is_causal"},
		[]starlark.Value{from.mask, from.padding, truthOf(srcCausal)}), src)
	if err != nil {
		return nil, err
	}
	return m.callFieldWith(thread, "decoder", keywords(decoderMasks,
		[]starlark.Value{own.mask, other.mask, own.padding, other.padding, truthOf(tgtCausal), truthOf(memoryCausal)}), tgt, memory)
}

func squareMask(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var n count
	var dt arg.OptDType
	if err := arg.Unpack(b.Name(), args, kwargs, "sz", &n, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	d := e.Runtime.Ops().Float
	if dt.Set {
		d = dt.V.D
	}
	if !d.IsFloat() {
		return nil, &op.ArgError{Func: b.Name(), Param: "dtype", Got: fmt.Sprint(d), Want: "a float dtype"}
	}
	c := &builtins.OpChain{E: e, Fn: b.Name()}
	x := c.Do("full", []*tensor.Tensor{tensor.Number(math.Inf(-1))}, op.IntsN(int(n), int(n)), op.Int1(int(d)))
	x = c.Do("triu", []*tensor.Tensor{x}, op.Int1(1))
	if c.Err != nil {
		return nil, c.Err
	}
	return e.Wrap(x), nil
}
