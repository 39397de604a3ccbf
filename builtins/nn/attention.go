package nn

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

var AttentionClass = &class{Name: "MultiheadAttention", forward: runAttention}

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.MultiheadAttention",
		Doc: "MultiheadAttention(embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False, dtype=None, device=None) returns a module of attention with several heads.\n" +
			"A call m(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,\n" +
			"average_attn_weights=True, is_causal=False) returns (output, weights). query is [l, n,\n" +
			"embed_dim], key [s, n, kdim] and value [s, n, vdim], as output is [l, n, embed_dim];\n" +
			"with batch_first n comes first, and all may be without n. weights are [n, l, s], the\n" +
			"mean over heads, or without average_attn_weights [n, num_heads, l, s]; without\n" +
			"need_weights None. Masks say what is NOT seen: truths hide, floats are added to the\n" +
			"scores. key_padding_mask is [n, s], attn_mask [l, s] or [n * num_heads, l, s]; is_causal\n" +
			"hides from query i the keys after i. A query that truths hide everything from gives\n" +
			"zeros.\n" +
			"in_proj_weight [3 embed_dim, embed_dim] is drawn uniform within √(6 / (4 embed_dim));\n" +
			"where kdim or vdim differ it is in three, q_proj_weight, k_proj_weight, v_proj_weight,\n" +
			"each within √(6 / (in + out)). in_proj_bias [3 embed_dim] is zeros. out_proj is a\n" +
			"Linear whose bias begins as zeros. With add_bias_kv there are a key bias_k and a value\n" +
			"bias_v [1, 1, embed_dim] besides, drawn from the normal distribution of standard\n" +
			"deviation 1 / √embed_dim; add_zero_attn adds a key and a value of zeros. Each comes after\n" +
			"the projected ones: weights then have one column more, and no mask hides it. " + docDType + "\n" +
			">>> m = nn.MultiheadAttention(8, 2, batch_first=True)\n" +
			">>> x = ones(2, 3, 8)\n" +
			">>> y, weights = m(x, x, x)\n" +
			">>> y.shape, weights.shape\n((2, 3, 8), (2, 3, 3))\n" +
			">>> nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)(x, x, x)[1].shape\n(3, 2, 4)",
		Fn: newAttention,
	})
}

// An attentionSpec is what a MultiheadAttention is made with.
type attentionSpec struct {
	embed, heads, k, v int
	dropout            probability
	bias, batchFirst   bool
	learned, zero      bool // one more key and value: that are learned, of zeros
	dt                 arg.OptDType
}

func newAttention(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		embed, heads count
		p            probability
		bias         = arg.Bool(true)
		first        arg.Bool
		learned      arg.Bool
		zero         arg.Bool
		k, v         arg.Opt[count, *count]
		dt           arg.OptDType
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "embed_dim", &embed, "num_heads", &heads, "dropout?", &p, "bias?", &bias,
		"add_bias_kv?", &learned, "add_zero_attn?", &zero, "kdim?", &k, "vdim?", &v, "batch_first?", &first, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	s := attentionSpec{embed: int(embed), heads: int(heads), k: int(embed), v: int(embed), dropout: p, bias: bool(bias),
		batchFirst: bool(first), learned: bool(learned), zero: bool(zero), dt: dt}
	if k.Set {
		s.k = int(k.V)
	}
	if v.Set {
		s.v = int(v.V)
	}
	return attention(e, b.Name(), "num_heads", s)
}

// attention returns a MultiheadAttention for the constructor fn, whose
// parameter param is the number of heads.
func attention(e *builtins.Env, fn, param string, s attentionSpec) (*Module, error) {
	if err := checkHeads(fn, param, s.heads, s.embed); err != nil {
		return nil, err
	}
	m := newModule(e, AttentionClass)
	m.plain("embed_dim", starlark.MakeInt(s.embed), "num_heads", starlark.MakeInt(s.heads),
		"kdim", starlark.MakeInt(s.k), "vdim", starlark.MakeInt(s.v),
		"dropout", starlark.Float(s.dropout), "batch_first", starlark.Bool(s.batchFirst), "add_zero_attn", starlark.Bool(s.zero))
	mk, err := newMaker(e, fn, m, s.dt)
	if err != nil {
		return nil, err
	}
	if err := mk.inProjection(s); err != nil {
		return nil, err
	}
	out := newModule(e, LinearClass)
	out.plain("in_features", starlark.MakeInt(s.embed), "out_features", starlark.MakeInt(s.embed))
	m.Put(Field{"out_proj", ModuleField, out})
	mk.m = out
	if err := mk.linear(s.embed, s.embed, false); err != nil {
		return nil, err
	}
	if s.bias {
		if err := mk.constant("bias", "zeros", s.embed); err != nil {
			return nil, err
		}
	}
	mk.m = m
	return m, mk.learnedKeys(s)
}

// learnedKeys makes the key and the value that are learned, or None.
func (mk *maker) learnedKeys(s attentionSpec) error {
	for _, name := range LearnedNames {
		if !s.learned {
			mk.none(name)
		} else if err := mk.normal(name, 1/math.Sqrt(float64(max(s.embed, 1))), 1, 1, s.embed); err != nil {
			return err
		}
	}
	return nil
}

// LearnedNames are the key and the value of an attention that are learned.
var LearnedNames = [2]string{"bias_k", "bias_v"}

// checkHeads returns an error unless heads, the parameter param, divides embed.
func checkHeads(fn, param string, heads, embed int) error {
	if heads > 0 && embed%heads == 0 {
		return nil
	}
	return &op.ArgError{Func: fn, Param: param, Got: fmt.Sprint(heads), Want: fmt.Sprintf("a number that divides %d", embed), Rule: "every head has an equal part"}
}

// inProjection makes the weights and biases of queries, keys and values.
func (mk *maker) inProjection(s attentionSpec) error {
	packed := s.k == s.embed && s.v == s.embed
	if packed {
		if err := mk.xavier("in_proj_weight", 3*s.embed, s.embed); err != nil {
			return err
		}
	} else {
		mk.none("in_proj_weight")
	}
	for i, in := range []int{s.embed, s.k, s.v} {
		if packed {
			mk.none(ProjectionNames[i])
		} else if err := mk.xavier(ProjectionNames[i], s.embed, in); err != nil {
			return err
		}
	}
	if !s.bias {
		mk.none("in_proj_bias")
		return nil
	}
	return mk.constant("in_proj_bias", "zeros", 3*s.embed)
}

// ProjectionNames are the weights of queries, keys and values where they are
// not packed in one.
var ProjectionNames = [3]string{"q_proj_weight", "k_proj_weight", "v_proj_weight"}

// ProjectionBiases are the biases of queries, keys and values where they are not
// packed in one.
var ProjectionBiases = [3]string{"q_proj_bias", "k_proj_bias", "v_proj_bias"}
