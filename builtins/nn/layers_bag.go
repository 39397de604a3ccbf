package nn

import (
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/shape"
)

var (
	embeddingBagClass = &class{Name: "EmbeddingBag", forward: runEmbeddingBag, shows: []string{"num_embeddings", "embedding_dim", "mode", "padding_idx", "max_norm"}, bare: 2}
	bilinearClass     = &class{Name: "Bilinear", forward: appliesTo("bilinear", []string{"input1", "input2"}, []string{"weight", "bias"}, false), shows: []string{"in1_features", "in2_features", "out_features", "bias"}}
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.EmbeddingBag",
		Doc: "EmbeddingBag(num_embeddings, embedding_dim, mode=\"mean\", include_last_offset=False, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False, dtype=None, device=None) returns a module that maps bags of integers to the mean, sum or maximum of those rows of weight.\n" +
			"A call m(input, offsets=None, per_sample_weights=None) takes what F.embedding_bag takes.\n" +
			"weight [num_embeddings, embedding_dim] is drawn from the normal distribution. Row\n" +
			"padding_idx, from the end if negative, is zeros and counts as not there. " + docDType + "\n" +
			">>> nn.EmbeddingBag(10, 3)(tensor([[0, 9], [1, 2]])).shape\n(2, 3)",
		Fn: newEmbeddingBag,
	}, &builtins.Row{
		Name: "nn.EmbeddingBag.from_pretrained", Static: true,
		Doc: "from_pretrained(embeddings, freeze=True, mode=\"mean\", include_last_offset=False, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False) returns an EmbeddingBag whose weight is a tensor [n, dim], on its storage, and without freeze requires grad.\n" +
			">>> nn.EmbeddingBag.from_pretrained(tensor([[1.0, 2.0], [3.0, 4.0]]))(tensor([[0, 1]])).tolist()\n[[2.0, 3.0]]",
		Fn: bagged,
	}, &builtins.Row{
		Name: "nn.Bilinear",
		Doc: "Bilinear(in1_features, in2_features, out_features, bias=True, dtype=None, device=None) returns a module that maps [.., in1_features] and [.., in2_features] to [.., out_features]: F.bilinear.\n" +
			"weight [out_features, in1_features, in2_features] and then bias [out_features] are drawn\n" +
			"uniform within 1 / √in1_features. " + docDType + "\n" +
			">>> nn.Bilinear(2, 3, 4)(ones(5, 2), ones(5, 3)).shape\n(5, 4)",
		Fn: newBilinear,
	})
}

func newEmbeddingBag(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		n, dim  count
		mode    starlark.Value = starlark.String("mean")
		last    arg.Bool
		padding arg.OptInt
		rows    = newRowLimits()
		dt      arg.OptDType
	)
	pairs := append([]any{"num_embeddings", &n, "embedding_dim", &dim, "mode?", &mode, "include_last_offset?", &last, "padding_idx?", &padding}, rows.pairs()...)
	if err := arg.Unpack(b.Name(), args, kwargs, append(pairs, "dtype?", &dt, "device?", builtins.Device{})...); err != nil {
		return nil, err
	}
	if err := builtins.CheckChoice(b.Name(), "mode", "embedding_bag", mode); err != nil {
		return nil, err
	}
	m := newModule(e, embeddingBagClass)
	m.plain("num_embeddings", starlark.MakeInt(int(n)), "embedding_dim", starlark.MakeInt(int(dim)), "mode", mode,
		"include_last_offset", starlark.Bool(last), "padding_idx", starlark.None)
	rows.keep(m)
	mk, err := newMaker(e, b.Name(), m, dt)
	if err != nil {
		return nil, err
	}
	return m, mk.rows(int(n), int(dim), padding)
}

// bagged makes an EmbeddingBag of a weight that is there.
func bagged(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x       builtins.OneTensor
		freeze                 = arg.Bool(true)
		mode    starlark.Value = starlark.String("mean")
		last    arg.Bool
		padding arg.OptInt
		rows    = newRowLimits()
	)
	pairs := append([]any{"embeddings", &x, "freeze?", &freeze, "mode?", &mode, "include_last_offset?", &last, "padding_idx?", &padding}, rows.pairs()...)
	if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
		return nil, err
	}
	if err := builtins.CheckChoice(b.Name(), "mode", "embedding_bag", mode); err != nil {
		return nil, err
	}
	m := newModule(e, embeddingBagClass)
	m.plain("mode", mode, "include_last_offset", starlark.Bool(last))
	rows.keep(m)
	return m, pretrained(m, b.Name(), x.T, !bool(freeze), padding)
}

// rows makes the weight [n, dim] of an embedding, of which the row padding, if there is
// one, is zeros.
func (mk *maker) rows(n, dim int, padding arg.OptInt) error {
	w, err := mk.create("randn", shape.Shape{n, dim})
	if err == nil && padding.Set {
		err = mk.padding(w, int(padding.V))
	}
	return mk.parameter("weight", w, err)
}

// runEmbeddingBag is the forward function of an EmbeddingBag.
func runEmbeddingBag(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var input starlark.Value
	var offsets, samples starlark.Value = starlark.None, starlark.None
	if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &input, "offsets?", &offsets, "per_sample_weights?", &samples); err != nil {
		return nil, err
	}
	weight, err := m.Attr("weight")
	if err != nil {
		return nil, err
	}
	return builtins.CallF(m.env, "embedding_bag", starlark.Tuple{input, weight, offsets, m.Get("mode"), samples, m.Get("include_last_offset"), m.Get("padding_idx"), m.Get("max_norm"), m.Get("norm_type"), m.Get("scale_grad_by_freq")}, nil)
}

func newBilinear(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		in1, in2, out count
		bias          = arg.Bool(true)
		dt            arg.OptDType
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "in1_features", &in1, "in2_features", &in2, "out_features", &out, "bias?", &bias, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	m := newModule(e, bilinearClass)
	m.plain("in1_features", starlark.MakeInt(int(in1)), "in2_features", starlark.MakeInt(int(in2)), "out_features", starlark.MakeInt(int(out)))
	mk, err := newMaker(e, b.Name(), m, dt)
	if err != nil {
		return nil, err
	}
	bound := 1 / math.Sqrt(float64(max(in1, 1)))
	if err := mk.uniform("weight", bound, int(out), int(in1), int(in2)); err != nil {
		return nil, err
	}
	if !bias {
		mk.none("bias")
		return m, nil
	}
	return m, mk.uniform("bias", bound, int(out))
}
