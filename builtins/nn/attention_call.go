package nn

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// An attentionCall is a call of a MultiheadAttention.
type attentionCall struct {
	builtins.OpChain
	m                *Module
	in               [3]*tensor.Tensor // query, key and value, as they were given
	padding, mask    *tensor.Tensor    // or nil
	causal           bool
	heads            int
	batched          bool // the arguments have a dim n
	batchFirst       bool // and it is dim 0
	weights, average bool // what is to be returned besides the output
	added            addedKeys
}

func runAttention(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		in            [3]builtins.OneTensor
		padding, mask builtins.OptTensor
		need, average = arg.Bool(true), arg.Bool(true)
		causal        arg.Bool
	)
	if err := arg.Unpack(m.Class.Name, args, kwargs, "query", &in[0], "key", &in[1], "value", &in[2], "key_padding_mask?", &padding,
		"need_weights?", &need, "attn_mask?", &mask, "average_attn_weights?", &average, "is_causal?", &causal); err != nil {
		return nil, err
	}
	a := &attentionCall{OpChain: builtins.OpChain{E: m.env, Fn: m.Class.Name}, m: m,
		in: [3]*tensor.Tensor{in[0].T, in[1].T, in[2].T}, padding: padding.T, mask: mask.T,
		causal: bool(causal), weights: bool(need), average: bool(average)}
	for i, name := range LearnedNames {
		a.added.learned[i] = a.field(name)
	}
	a.added.zero = m.Get("add_zero_attn") == starlark.True
	y, weights, err := a.run()
	if err != nil {
		return nil, err
	}
	out, err := m.callField(thread, "out_proj", m.env.Wrap(y))
	if err != nil {
		return nil, err
	}
	return a.result(out, weights)
}

// run returns what the heads give, side by side, and the weights, if they are wanted.
func (a *attentionCall) run() (y, weights *tensor.Tensor, err error) {
	if err := a.prepare(); err != nil {
		return nil, nil, err
	}
	qkv := a.project()
	a.addLearned(&qkv)
	for i, x := range qkv {
		qkv[i] = a.split(x)
	}
	a.addFixed(&qkv)
	y, weights = a.attend(qkv[0], qkv[1], qkv[2], a.bias())
	return a.join(y), weights, a.Err
}

// ints returns integer fields.
func (a *attentionCall) ints(names ...string) []int {
	list := make([]int, len(names))
	for i, name := range names {
		n, err := arg.ToInt(a.m.Get(name))
		if err != nil {
			a.Fail(arg.In(a.Fn+"."+name, "", err))
		}
		list[i] = n
	}
	return list
}

// prepare checks the arguments and notes how they lie.
func (a *attentionCall) prepare() error {
	var first arg.Bool
	if err := arg.Set(a.Fn+".batch_first", "", &first, a.m.Get("batch_first")); err != nil {
		return err
	}
	names := []string{"embed_dim", "kdim", "vdim"}
	sizes := a.ints(append(names, "num_heads")...)
	if a.Err != nil {
		return a.Err
	}
	a.heads, a.batchFirst, a.batched = sizes[3], bool(first), a.in[0].Ndim() != 2
	for i, name := range []string{"query", "key", "value"} {
		if err := a.checkInput(name, a.in[i], names[i], sizes[i]); err != nil {
			return err
		}
	}
	if a.Err != nil {
		return a.Err
	}
	return a.checkTogether()
}

// batchesFirst gives a projection the layout [n, l, ...]. The arguments keep
// theirs: one that is several of them gets the sum of its gradients, as they lie.
func (a *attentionCall) batchesFirst(x *tensor.Tensor) *tensor.Tensor {
	switch {
	case !a.batched:
		return a.Do("unsqueeze", []*tensor.Tensor{x}, op.Int1(0))
	case !a.batchFirst:
		return a.Do("transpose", []*tensor.Tensor{x}, op.Int1(0), op.Int1(1))
	}
	return x
}

// sizes returns the sizes n and l of argument i.
func (a *attentionCall) sizes(i int) (n, l int) {
	s := a.in[i].Shape()
	switch {
	case !a.batched:
		return 1, s[0]
	case a.batchFirst:
		return s[0], s[1]
	}
	return s[1], s[0]
}

// checkInput returns an error unless x is a float tensor of as many dims as query, the last
// of size n, which the module has as field.
func (a *attentionCall) checkInput(name string, x *tensor.Tensor, field string, n int) error {
	dims, ndim := "l, n", 3
	switch {
	case !a.batched:
		dims, ndim = "l", 2
	case a.batchFirst:
		dims = "n, l"
	}
	if x.DType().IsFloat() && x.Ndim() == ndim && x.Shape()[ndim-1] == n {
		return nil
	}
	return &op.ArgError{Func: a.Fn, Param: name, Got: op.Describe(x), Want: fmt.Sprintf("a float tensor [%s, %d]", dims, n), Rule: field + " is " + fmt.Sprint(n)}
}

// checkTogether returns an error unless the sizes of the arguments agree.
func (a *attentionCall) checkTogether() error {
	n, l := a.sizes(0)
	batch, s := a.sizes(1)
	bad := func(param string, x *tensor.Tensor, want, rule string) error {
		return &op.ArgError{Func: a.Fn, Param: param, Got: op.Describe(x), Want: want, Rule: rule}
	}
	switch {
	case batch != n:
		return bad("key", a.in[1], fmt.Sprintf("a batch of %d", n), "that of query")
	case !a.in[2].Shape()[:a.in[2].Ndim()-1].Equal(a.in[1].Shape()[:a.in[1].Ndim()-1]):
		return bad("value", a.in[2], fmt.Sprintf("a batch of %d and %d values", n, s), "as many as keys")
	}
	if x := a.padding; x != nil && !a.maskOf(x, a.unbatched(shape.Shape{n, s})) {
		return bad("key_padding_mask", x, "a bool or float tensor of shape "+a.unbatched(shape.Shape{n, s}).String(), "True hides a key")
	}
	if x := a.mask; x != nil && !a.maskOf(x, shape.Shape{l, s}) && !a.maskOf(x, shape.Shape{n * a.heads, l, s}) {
		return bad("attn_mask", x, fmt.Sprintf("a bool or float tensor of shape %v or %v", shape.Shape{l, s}, shape.Shape{n * a.heads, l, s}), "True hides a key from a query")
	}
	return nil
}

// unbatched returns s, which begins with the size of the batch, without that
// if the arguments have none.
func (a *attentionCall) unbatched(s shape.Shape) shape.Shape {
	if a.batched {
		return s
	}
	return s[1:]
}

func (a *attentionCall) maskOf(x *tensor.Tensor, s shape.Shape) bool {
	return (x.DType() == dtype.Bool || x.DType().IsFloat()) && x.Shape().Equal(s)
}

// project returns the projections of query, key and value, [n, l, embed_dim].
func (a *attentionCall) project() [3]*tensor.Tensor {
	weights, biases := a.thirds("in_proj_weight"), a.thirds("in_proj_bias")
	var out [3]*tensor.Tensor
	for i, x := range a.in {
		w := weights[i]
		if w == nil {
			w = a.field(ProjectionNames[i])
		}
		if w == nil {
			a.Fail(&op.ArgError{Func: a.Fn + "." + ProjectionNames[i], Got: "None", Want: "a Parameter", Rule: "in_proj_weight is None"})
		}
		bias := biases[i]
		if bias == nil && a.m.Get(ProjectionBiases[i]) != nil {
			bias = a.field(ProjectionBiases[i])
		}
		out[i] = a.batchesFirst(a.Do("linear", []*tensor.Tensor{x, w, bias}))
	}
	return out
}

// field returns a parameter, or nil if it is None.
func (a *attentionCall) field(name string) *tensor.Tensor {
	var x builtins.OptTensor
	a.Fail(arg.Set(a.Fn+"."+name, "", &x, a.m.Get(name)))
	return x.T
}

// thirds returns the parts of a parameter that is for query, key and value, or
// nil if there is none.
func (a *attentionCall) thirds(name string) [3]*tensor.Tensor {
	w := a.field(name)
	if w == nil || a.Err != nil {
		return [3]*tensor.Tensor{}
	}
	return [3]*tensor.Tensor(a.All("chunk", []*tensor.Tensor{w}, 3, op.Int1(3), op.Int1(0)))
}

// split returns x [n, l, embed_dim] as [n, heads, l, embed_dim / heads].
func (a *attentionCall) split(x *tensor.Tensor) *tensor.Tensor {
	if a.Err != nil {
		return nil
	}
	s := x.Shape()
	x = a.Do("reshape", []*tensor.Tensor{x}, op.IntsN(s[0], s[1], a.heads, s[2]/a.heads))
	return a.Do("transpose", []*tensor.Tensor{x}, op.Int1(1), op.Int1(2))
}

// join is the inverse of split, in the layout of the arguments.
func (a *attentionCall) join(x *tensor.Tensor) *tensor.Tensor {
	if a.Err != nil {
		return nil
	}
	s := x.Shape()
	n, l, e := s[0], s[2], s[1]*s[3]
	switch {
	case !a.batched:
		x = a.Do("permute", []*tensor.Tensor{x}, op.IntsN(0, 2, 1, 3))
		return a.Do("reshape", []*tensor.Tensor{x}, op.IntsN(l, e))
	case a.batchFirst:
		x = a.Do("permute", []*tensor.Tensor{x}, op.IntsN(0, 2, 1, 3))
		return a.Do("reshape", []*tensor.Tensor{x}, op.IntsN(n, l, e))
	}
	x = a.Do("permute", []*tensor.Tensor{x}, op.IntsN(2, 0, 1, 3))
	return a.Do("reshape", []*tensor.Tensor{x}, op.IntsN(l, n, e))
}

// bias returns the masks as one that broadcasts to [n, heads, l, s]: truths of
// what is seen, or floats to add to the scores; nil if nothing is hidden.
func (a *attentionCall) bias() *tensor.Tensor {
	if a.Err != nil {
		return nil
	}
	n, l := a.sizes(0)
	_, s := a.sizes(1)
	var hidden, added *tensor.Tensor
	add := func(x *tensor.Tensor) {
		switch {
		case a.Err != nil:
		case x.DType() == dtype.Bool:
			hidden = a.merge("or", hidden, x)
		default:
			added = a.merge("add", added, x)
		}
	}
	if x := a.padding; x != nil {
		add(a.Do("reshape", []*tensor.Tensor{x}, op.IntsN(n, 1, 1, s)))
	}
	if x := a.mask; x != nil {
		if x.Ndim() == 3 {
			x = a.Do("reshape", []*tensor.Tensor{x}, op.IntsN(n, a.heads, l, s))
		}
		add(x)
	}
	if a.causal {
		add(a.future(l, s))
	}
	switch {
	case a.Err != nil || hidden == nil:
		return a.seen(added, 0)
	case added == nil:
		return a.seen(a.Do("invert", []*tensor.Tensor{hidden}), 1)
	}
	return a.seen(a.Do("where", []*tensor.Tensor{hidden, tensor.Number(math.Inf(-1)), added}), 0)
}

// merge returns y, or the operator called name of x and y if there is an x.
func (a *attentionCall) merge(name string, x, y *tensor.Tensor) *tensor.Tensor {
	if x == nil {
		return y
	}
	return a.Do(name, []*tensor.Tensor{x, y})
}

// future returns the mask [l, s] that hides from query i the keys after i.
func (a *attentionCall) future(l, s int) *tensor.Tensor {
	count := func(n int) *tensor.Tensor {
		return a.Do("arange", []*tensor.Tensor{tensor.Number(int64(n)), nil, nil}, op.None)
	}
	queries := a.Do("reshape", []*tensor.Tensor{count(l)}, op.IntsN(l, 1))
	return a.Do("gt", []*tensor.Tensor{count(s), queries})
}

// attend returns the sums of values and, if they are wanted, their weights.
func (a *attentionCall) attend(q, k, v, bias *tensor.Tensor) (y, weights *tensor.Tensor) {
	var p arg.Float
	if a.m.training {
		a.Fail(arg.Set(a.Fn+".dropout", "", &p, a.m.Get("dropout")))
	}
	if !a.weights {
		return a.Do("scaled_dot_product_attention", []*tensor.Tensor{q, k, v, bias}, op.Float1(float64(p)), op.Bool1(false), op.None, op.Bool1(false), op.None), nil
	}
	weights = a.softmax(q, k, bias)
	if p > 0 {
		weights = a.Do("dropout", []*tensor.Tensor{weights}, op.Float1(float64(p)), op.Bool1(true))
	}
	return a.Do("matmul", []*tensor.Tensor{weights, v}), weights
}

// softmax returns the weights, computed as scaled_dot_product_attention does.
func (a *attentionCall) softmax(q, k, bias *tensor.Tensor) *tensor.Tensor {
	if a.Err != nil {
		return nil
	}
	scale := 1 / math.Sqrt(float64(q.Shape()[3]))
	scores := a.Do("matmul", []*tensor.Tensor{q, a.Do("transpose", []*tensor.Tensor{k}, op.Int1(-2), op.Int1(-1))})
	scores = a.Do("mul", []*tensor.Tensor{scores, tensor.Number(scale)})
	over := func(x *tensor.Tensor) *tensor.Tensor {
		return a.Do("softmax", []*tensor.Tensor{x}, op.Int1(-1), op.None)
	}
	switch {
	case bias == nil || a.Err != nil:
		return over(scores)
	case bias.DType() != dtype.Bool:
		return over(a.Do("add", []*tensor.Tensor{scores, bias}))
	}
	least := tensor.Number(leastOf(scores.DType())) // finite: a query that sees nothing gets zeros, not NaN
	scores = a.Do("where", []*tensor.Tensor{bias, scores, least})
	return a.Do("where", []*tensor.Tensor{bias, over(scores), tensor.Number(0.0)})
}

// leastOf returns a number of dt that is as good as minus infinity.
func leastOf(dt dtype.DType) float64 {
	if dt == dtype.Float16 {
		return -65504
	}
	return -3e38
}

// result returns the pair that a call returns.
func (a *attentionCall) result(out starlark.Value, weights *tensor.Tensor) (starlark.Value, error) {
	if weights == nil {
		return starlark.Tuple{out, starlark.None}, nil
	}
	if a.average {
		weights = a.Do("mean", []*tensor.Tensor{weights}, op.IntsN(1), op.Bool1(false))
	}
	if !a.batched {
		weights = a.Do("squeeze", []*tensor.Tensor{weights}, op.IntsN(0))
	}
	if a.Err != nil {
		return nil, a.Err
	}
	return starlark.Tuple{out, a.E.Wrap(weights)}, nil
}
