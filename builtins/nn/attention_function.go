package nn

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "F.multi_head_attention_forward",
		Doc: "multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True, is_causal=False) returns (output, weights) as a MultiheadAttention with these parameters does.\n" +
			"query is [l, n, embed_dim_to_check], key [s, n, ...] and value [s, n, ...], or all without n;\n" +
			"masks are those of nn.MultiheadAttention, is_causal says that attn_mask hides what comes later,\n" +
			"and dropout_p is of weights in training. in_proj_weight is [3 embed_dim, embed_dim]; with\n" +
			"use_separate_proj_weight there are three weights in its place. bias_k and bias_v [1, 1,\n" +
			"embed_dim] are one more key and value after the projected ones, add_zero_attn one more of\n" +
			"zeros; static_k and static_v [n * num_heads, s, embed_dim / num_heads] are taken instead of\n" +
			"the projected ones. No mask hides what is added.\n" +
			">>> m, x = nn.MultiheadAttention(4, 2), ones(3, 1, 4)\n" +
			">>> y, w = F.multi_head_attention_forward(x, x, x, 4, 2, m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0, m.out_proj.weight, m.out_proj.bias)\n" +
			">>> y.equal(m(x, x, x)[0]), w.shape\n(True, (1, 3, 3))",
		Fn: attentionForward,
	})
}

// addedKeys are keys and values that are not projected, or nil: one more that is learned,
// [1, 1, embed_dim], and those that are taken in the place of the projected ones, [n * heads, s,
// embed_dim / heads]; and whether there is one more of zeros. Masks say nothing of what is more.
type addedKeys struct {
	learned, fixed [2]*tensor.Tensor
	zero           bool
}

// count returns how many keys are more than the projected ones.
func (k *addedKeys) count() int {
	n := 0
	if k.learned[0] != nil {
		n++
	}
	if k.zero {
		n++
	}
	return n
}

func attentionForward(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		in                                       [3]builtins.OneTensor
		embed, heads                             count
		weight, bias, q, k, v                    starlark.Value = starlark.None, starlark.None, starlark.None, starlark.None, starlark.None
		learned, fixed                           [2]builtins.OptTensor
		zero, separate, causal                   arg.Bool
		training, need, average                  = arg.Bool(true), arg.Bool(true), arg.Bool(true)
		p                                        probability
		outWeight                                builtins.OneTensor
		outBias, padding, mask, kWeight, vWeight builtins.OptTensor
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "query", &in[0], "key", &in[1], "value", &in[2], "embed_dim_to_check", &embed, "num_heads", &heads,
		"in_proj_weight", &weight, "in_proj_bias", &bias, "bias_k", &learned[0], "bias_v", &learned[1], "add_zero_attn", &zero, "dropout_p", &p,
		"out_proj_weight", &outWeight, "out_proj_bias", &outBias, "training?", &training, "key_padding_mask?", &padding, "need_weights?", &need,
		"attn_mask?", &mask, "use_separate_proj_weight?", &separate, "q_proj_weight?", &q, "k_proj_weight?", &k, "v_proj_weight?", &v,
		"static_k?", &fixed[0], "static_v?", &fixed[1], "average_attn_weights?", &average, "is_causal?", &causal); err != nil {
		return nil, err
	}
	if err := checkHeads(b.Name(), "num_heads", int(heads), int(embed)); err != nil {
		return nil, err
	}
	if bool(causal) && mask.T == nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "attn_mask", Got: "None", Want: "a mask that hides what comes later", Rule: "is_causal says that it does"}
	}
	m := newModule(e, AttentionClass)
	m.training = bool(training)
	sizes := [2]int{int(embed), int(embed)}
	if separate {
		for i, w := range []*builtins.OptTensor{&kWeight, &vWeight} {
			name := ProjectionNames[i+1]
			if err := arg.Set(b.Name(), name, w, []starlark.Value{k, v}[i]); err != nil {
				return nil, err
			}
			if w.T == nil || w.T.Ndim() != 2 {
				return nil, &op.ArgError{Func: b.Name(), Param: name, Got: arg.Show([]starlark.Value{k, v}[i]), Want: "a matrix", Rule: "use_separate_proj_weight is True"}
			}
			sizes[i] = w.T.Shape()[1]
		}
		weight = starlark.None
	}
	m.plain("embed_dim", starlark.MakeInt(int(embed)), "num_heads", starlark.MakeInt(int(heads)), "kdim", starlark.MakeInt(sizes[0]), "vdim", starlark.MakeInt(sizes[1]),
		"dropout", starlark.Float(p), "batch_first", starlark.False, "in_proj_weight", weight, "in_proj_bias", bias,
		ProjectionNames[0], q, ProjectionNames[1], k, ProjectionNames[2], v)
	a := &attentionCall{OpChain: builtins.OpChain{E: e, Fn: b.Name()}, m: m, in: [3]*tensor.Tensor{in[0].T, in[1].T, in[2].T},
		padding: padding.T, mask: mask.T, weights: bool(need), average: bool(average),
		added: addedKeys{[2]*tensor.Tensor{learned[0].T, learned[1].T}, [2]*tensor.Tensor{fixed[0].T, fixed[1].T}, bool(zero)}}
	y, weights, err := a.run()
	if err != nil {
		return nil, err
	}
	y = a.Do("linear", []*tensor.Tensor{y, outWeight.T, outBias.T})
	if a.Err != nil {
		return nil, a.Err
	}
	return a.result(e.Wrap(y), weights)
}

// addLearned adds the key and the value that are learned to the projected ones [n, s,
// embed_dim].
func (a *attentionCall) addLearned(qkv *[3]*tensor.Tensor) {
	for i, x := range a.added.learned {
		other := a.added.learned[1-i]
		if x == nil || a.Err != nil {
			continue
		}
		s := qkv[i+1].Shape()
		switch {
		case other == nil:
			a.Fail(&op.ArgError{Func: a.Fn, Param: LearnedNames[1-i], Got: "None", Want: "a tensor", Rule: LearnedNames[i] + " is one"})
		case a.added.fixed[i] != nil:
			a.Fail(&op.ArgError{Func: a.Fn, Param: LearnedNames[i], Got: op.Describe(x), Want: "None", Rule: "what is static has nothing added"})
		case x.Numel() != s[2]:
			a.Fail(&op.ArgError{Func: a.Fn, Param: LearnedNames[i], Got: op.Describe(x), Want: fmt.Sprintf("a tensor [1, 1, %d]", s[2]), Rule: "as the projections"})
		}
		x = a.Do("reshape", []*tensor.Tensor{x}, op.IntsN(1, 1, s[2]))
		x = a.Do("expand", []*tensor.Tensor{x}, op.IntsN(s[0], 1, s[2]))
		qkv[i+1] = a.Do("cat", []*tensor.Tensor{qkv[i+1], x}, op.Int1(1))
	}
}

// addFixed takes keys and values [n, heads, s, embed_dim / heads] that are not projected, and
// adds one of zeros, if these are wanted.
func (a *attentionCall) addFixed(qkv *[3]*tensor.Tensor) {
	for i, x := range a.added.fixed {
		if a.Err != nil {
			return
		}
		s := qkv[i+1].Shape()
		if x != nil {
			if got := x.Shape(); len(got) != 3 || got[0] != s[0]*s[1] || got[2] != s[3] {
				a.Fail(&op.ArgError{Func: a.Fn, Param: [2]string{"static_k", "static_v"}[i], Got: op.Describe(x), Want: fmt.Sprintf("a tensor [%d, s, %d]", s[0]*s[1], s[3]), Rule: "a matrix for each head of each of the batch"})
				return
			}
			qkv[i+1] = a.Do("reshape", []*tensor.Tensor{x}, op.IntsN(s[0], s[1], x.Shape()[1], s[3]))
		}
		if a.added.zero {
			qkv[i+1] = a.Do("pad", []*tensor.Tensor{qkv[i+1]}, op.IntsN(0, 0, 0, 1), op.Str1("constant"), op.Float1(0))
		}
	}
}

// seen returns mask, which may be nil, with value for each of the keys that were added: it is
// of the projected ones alone.
func (a *attentionCall) seen(mask *tensor.Tensor, value float64) *tensor.Tensor {
	if n := a.added.count(); mask != nil && n > 0 {
		return a.Do("pad", []*tensor.Tensor{mask}, op.IntsN(0, n), op.Str1("constant"), op.Float1(value))
	}
	return mask
}
