package main

import (
	"fmt"
	"slices"
	"strings"
)

// isReal reports whether v is of a dtype in which factorizations are computed.
func (v *value) isReal() bool { return v.is("float32", "float64") }

// isInt reports whether v has whole numbers.
func (v *value) isInt() bool { return v.is("int64", "int32") }

// allOf reports whether all conditions hold.
func allOf(conditions ...func(v *value) bool) func(v *value) bool {
	return func(v *value) bool {
		return !slices.ContainsFunc(conditions, func(c func(v *value) bool) bool { return !c(v) })
	}
}

// ofDims reports whether v has so many dims.
func ofDims(ndim int) func(v *value) bool { return func(v *value) bool { return len(v.shape) == ndim } }

// lastAtLeast reports whether the last dim is that long.
func lastAtLeast(n int) func(v *value) bool {
	return func(v *value) bool { return len(v.shape) > 0 && v.shape[len(v.shape)-1] >= n }
}

// isSmall keeps products and factorizations short.
func isSmall(v *value) bool { return v.numel() <= 400 }

// giving is an operator whose result has the shape that resize makes of that of the tensor,
// and a dtype, "" for that of the tensor.
func giving(takes func(*value) bool, smooth bool, dtype string, resize func(shape []int) []int, formats ...string) operator {
	return operator{takes, func(s *sketch, x *value) (string, []int, string) {
		to := dtype
		if to == "" {
			to = x.dtype
		}
		return strings.ReplaceAll(one(s, formats), "X", x.name), resize(slices.Clone(x.shape)), to
	}, smooth}
}

func unchanged(shape []int) []int { return shape }

// lastTo returns a shape whose last dim is what f makes of it.
func lastTo(f func(n int) int) func(shape []int) []int {
	return func(shape []int) []int {
		shape[len(shape)-1] = f(shape[len(shape)-1])
		return shape
	}
}

// layers are operators with weights, of matrices and of words.
var layers = []operator{
	{allOf((*value).isFloat, hasDims(1)), weighted("matmul(X, W)", "einsum(\"...i,ij->...j\", X, W)", "F.linear(X, W.T)"), true},
	{allOf((*value).isFloat, ofDims(3), lastAtLeast(2)), convolved, true},
	{allOf((*value).isInt, isSmall), embedded, false},
	{allOf((*value).isFloat, ofDims(2), notEmpty, isSmall), classified, true},
	{allOf((*value).isNumber, hasDims(1), notEmpty), selected, true},
	giving(allOf((*value).isFloat, ofDims(3), notEmpty, isSmall), true, "", unchanged, "F.scaled_dot_product_attention(X, X, X)", "F.scaled_dot_product_attention(X, X, X, is_causal=True)"),
	giving(allOf((*value).isFloat, hasDims(1), notEmpty), true, "", unchanged, "F.rms_norm(X, [X.shape[-1]])", "F.normalize(X, dim=-1)", "F.dropout(X, 0.3)", "X.logcumsumexp(-1)"),
	giving((*value).isFloat, true, "", unchanged, "F.softplus(X)", "F.elu(X)", "F.hardtanh(X)", "F.leaky_relu(X)", "F.mish(X)", "F.softsign(X)", "F.logsigmoid(X)", "X.square()", "X.atan()", "X.asinh()", "X.sinc()", "X.expm1().clamp(-3.0, 3.0)", "X.lerp(X * 2.0, 0.3)", "X.atan2(X.abs() + 1.0)", "X.hypot(X + 1.0)"),
	giving((*value).isFloat, false, "", unchanged, "X.trunc()", "X.frac()", "X.heaviside(X)", "X.copysign(-X)", "X.fmod(0.7)", "X.nextafter(X + 1.0)"),
	giving(allOf((*value).isNumber, hasDims(1), notEmpty), false, "int64", unchanged, "X.argsort(0)", "X.sort(-1)[1]", "X.cummin(0)[1]"),
	giving(allOf((*value).isNumber, hasDims(1), notEmpty), false, "", unchanged, "X.gather(0, X.argsort(0))", "X.scatter_add(0, X.argsort(0), X)", "X.take_along_dim(X.argsort(-1), -1)", "X.index_add(0, tensor([0]), X[0:1])"),
	giving(allOf((*value).isNumber, lastAtLeast(2)), true, "", lastTo(func(n int) int { return n - 1 }), "X.diff()", "X.narrow(-1, 1, X.shape[-1] - 1)"),
	giving(hasDims(1), true, "", lastTo(func(n int) int { return 3 * n }), "cat([X, X, X], -1)", "X.repeat_interleave(3, -1)"),
	giving(allOf((*value).isReal, ofDims(2), notEmpty, isSmall), false, "", func(shape []int) []int { return []int{shape[0], shape[0]} },
		"linalg.inv(matmul(X, X.T) + eye(X.shape[0], dtype=X.dtype))", "linalg.cholesky(matmul(X, X.T) + eye(X.shape[0], dtype=X.dtype))"),
	giving(allOf((*value).isReal, ofDims(2), notEmpty, isSmall), false, "", func(shape []int) []int { return []int{min(shape[0], shape[1])} }, "linalg.svdvals(X)", "X.diagonal()"),
	giving(allOf((*value).isReal, lastAtLeast(1), isSmall, notEmpty), false, "", lastTo(func(n int) int { return n/2 + 1 }), "fft.rfft(X).abs()"),
	giving(isSmall, false, "int64", func([]int) []int { return []int{} }, "X.count_nonzero()"),
	reducing(allOf((*value).isReal, isSmall), false, "", "nansum", "nanmean"),
	giving((*value).isReal, true, "", unchanged, "custom_vjp(lambda u: (u.sin(), u), lambda u, g: u.cos() * g)(X)"),
	giving(allOf((*value).isReal, hasDims(1), notEmpty, isSmall), true, "", func(shape []int) []int { return shape[:1] }, "vmap(lambda u: u.tanh().sum())(X)"),
	giving(allOf((*value).isReal, ofDims(2), notEmpty, isSmall), true, "", func(shape []int) []int { return []int{shape[0], shape[0]} }, "register_op(\"gram\", lambda a, b: a.matmul(b), sharding=\"mk,kn->mn\")(X, X.T)"),
	giving(allOf(func(v *value) bool { return v.dtype == "float32" }, ofDims(2), notEmpty, isSmall), false, "bfloat16", func(shape []int) []int { return []int{shape[0], shape[0]} }, "autocast(bfloat16, lambda: matmul(X, X.T))"),
}

// weighted is a product with a matrix W that every rank draws alike.
func weighted(formats ...string) func(s *sketch, x *value) (string, []int, string) {
	return func(s *sketch, x *value) (string, []int, string) {
		shape := slices.Clone(x.shape)
		n := len(shape) - 1
		if shape[n] > 100 {
			return x.name + " * 0.25", shape, x.dtype
		}
		w := s.weight(x.dtype, shape[n], s.size())
		shape[n] = w.shape[1]
		return strings.NewReplacer("X", x.name, "W", w.name).Replace(one(s, formats)), shape, x.dtype
	}
}

// weight is a tensor that every rank draws alike, as an expression.
func (s *sketch) weight(dtype string, shape ...int) *value {
	return &value{name: fmt.Sprintf("with_seed(%d, lambda: randn(%s, dtype=%s))", s.rng.IntN(100), listOf(shape), dtype), shape: shape, dtype: dtype, alike: true}
}

func convolved(s *sketch, x *value) (string, []int, string) {
	if x.numel() > 400 || x.numel() == 0 {
		return x.name + " * 0.25", x.shape, x.dtype
	}
	w := s.weight(x.dtype, s.size(), x.shape[1], 2)
	return fmt.Sprintf("F.conv1d(%s, %s)", x.name, w.name), []int{x.shape[0], w.shape[0], x.shape[2] - 1}, x.dtype
}

func embedded(s *sketch, x *value) (string, []int, string) {
	const words = 5
	shape := slices.Clone(x.shape)
	if s.chance(3) {
		return fmt.Sprintf("F.one_hot(%s.abs() %% %d, %d)", x.name, words, words), append(shape, words), "int64"
	}
	w := s.weight("float32", words, s.size())
	return fmt.Sprintf("F.embedding(%s.abs() %% %d, %s)", x.name, words, w.name), append(shape, w.shape[1]), "float32"
}

// classified is a loss of rows, each with a class that it should be of.
func classified(s *sketch, x *value) (string, []int, string) {
	classes := make([]int, x.shape[0])
	for i := range classes {
		classes[i] = s.rng.IntN(x.shape[1])
	}
	return fmt.Sprintf("F.cross_entropy(%s, tensor(%s))", x.name, listOf(classes)), []int{}, x.dtype
}

func selected(s *sketch, x *value) (string, []int, string) {
	dim := s.rng.IntN(len(x.shape))
	index := make([]int, 1+s.rng.IntN(4))
	for i := range index {
		index[i] = s.rng.IntN(x.shape[dim])
	}
	shape := slices.Clone(x.shape)
	shape[dim] = len(index)
	return fmt.Sprintf("%s.index_select(%d, tensor(%s))", x.name, dim, listOf(index)), shape, x.dtype
}
