package main

import (
	"fmt"
	"slices"
	"strings"
)

// An operator is one that a random program may call on a tensor, plain or distributed.
type operator struct {
	takes func(v *value) bool
	// write returns the call on a tensor named x, with the shape and the dtype of what it gives.
	write func(s *sketch, x *value) (call string, shape []int, dtype string)
	// smooth says that it has a gradient.
	smooth bool
}

func hasDims(n int) func(v *value) bool { return func(v *value) bool { return len(v.shape) >= n } }

// notEmpty reports whether v has elements, so that it has a largest one.
func notEmpty(v *value) bool { return v.numel() > 0 }

// same is an operator that leaves shape and dtype as they are.
func same(takes func(*value) bool, smooth bool, formats ...string) operator {
	return operator{takes, func(s *sketch, x *value) (string, []int, string) {
		return strings.ReplaceAll(one(s, formats), "X", x.name), x.shape, x.dtype
	}, smooth}
}

// onDim is an operator along a dim, D, that leaves shape and dtype as they are.
func onDim(takes func(*value) bool, smooth bool, formats ...string) operator {
	return operator{allOf(takes, hasDims(1)), func(s *sketch, x *value) (string, []int, string) {
		dim := fmt.Sprint(s.rng.IntN(len(x.shape)))
		return strings.NewReplacer("X", x.name, "D", dim).Replace(one(s, formats)), x.shape, x.dtype
	}, smooth}
}

// reducing is an operator over one dim, D, or over all, with the dtype of what it gives, ""
// for that of the tensor.
func reducing(takes func(*value) bool, smooth bool, dtype string, names ...string) operator {
	return operator{allOf(takes, notEmpty), func(s *sketch, x *value) (string, []int, string) {
		to := dtype
		if to == "" {
			to = x.dtype
		}
		name := one(s, names)
		if len(x.shape) == 0 || s.chance(3) {
			return fmt.Sprintf("%s.%s()", x.name, name), []int{}, to
		}
		dim := s.rng.IntN(len(x.shape))
		if s.chance(2) {
			shape := slices.Clone(x.shape)
			shape[dim] = 1
			return fmt.Sprintf("%s.%s(dim=%d, keepdim=True)", x.name, name, dim), shape, to
		}
		return fmt.Sprintf("%s.%s(dim=%d)", x.name, name, dim-len(x.shape)), slices.Delete(slices.Clone(x.shape), dim, dim+1), to
	}, smooth}
}

// operators are what random programs compute.
var operators = []operator{
	same((*value).isFloat, true, "X.tanh()", "X.sigmoid()", "X.sin()", "X.cos()", "X.relu()", "X.erf()", "F.gelu(X)", "F.silu(X)", "X.clamp(-1.5, 0.7)", "X.clamp(-4.0, 4.0).exp()", "(X.abs() + 1.0).log()", "(X * X + 0.5).sqrt()", "(X.abs() + 0.25).rsqrt()"),
	same((*value).isFloat, true, "X * 0.37", "X + 1.25", "2.0 - X", "X / 3.0", "1.0 / (X.abs() + 1.0)", "X.pow(2)", "-X", "X.abs()"),
	same((*value).isFloat, false, "X.floor()", "X.round()", "X.sign()", "X // 0.75", "X % 1.3", "X.nan_to_num()"),
	same(func(v *value) bool { return v.is("int64", "int32") }, false, "X * 3", "X + 1", "7 - X", "X // 3", "X % 4", "-X", "X.abs()", "X & 5", "X ^ 3", "~X", "X.clamp(-3, 4)"),
	same(func(v *value) bool { return v.dtype == "bool" }, false, "~X", "X.logical_not()", "X & X.flip([0])", "X | ~X"),
	onDim((*value).isFloat, true, "F.softmax(X, dim=D)", "F.log_softmax(X, dim=D)", "X.cumsum(D)", "X - X.mean(D, keepdim=True)"),
	onDim(allOf((*value).isNumber, notEmpty), false, "X.sort(D)[0]", "X.flip([D])", "X.roll(2, D)", "X.cummax(D)[0]", "X - X.max(D, keepdim=True)[0]"),
	reducing((*value).isFloat, true, "", "sum", "mean", "logsumexp", "norm"),
	reducing(func(v *value) bool { return v.isFloat() && v.numel() > 1 && !slices.Contains(v.shape, 1) }, true, "", "var", "std"),
	reducing((*value).isNumber, false, "", "amax", "amin"),
	reducing((*value).isNumber, false, "int64", "argmax", "argmin"),
	reducing(func(*value) bool { return true }, false, "bool", "any", "all"),
	reducing(func(v *value) bool { return v.is("int64", "int32", "bool") }, false, "int64", "sum"),
	{hasDims(2), transposed, true},
	{hasDims(1), narrowed, true},
	{hasDims(1), indexed, true},
	{hasDims(1), flattened, true},
	{hasDims(2), reshaped, true},
	{hasDims(1), joined, true},
	{hasDims(1), stacked, true},
	{hasDims(1), padded, true},
	{hasDims(0), unsqueezed, true},
	{allOf((*value).isFloat, hasDims(1)), halved, true},
	{allOf((*value).isFloat, hasDims(1)), normed, true},
	{allOf((*value).isFloat, hasDims(2)), gram, true},
	{allOf((*value).isNumber, hasDims(2)), triangle, true},
	{hasDims(0), converted, false},
	{(*value).isNumber, compared, false},
	{(*value).isNumber, maskedIn, true},
	{allOf((*value).isNumber, allOf(hasDims(1), notEmpty)), best, false},
}

func transposed(s *sketch, x *value) (string, []int, string) {
	dims := s.rng.Perm(len(x.shape))
	shape := make([]int, len(dims))
	for i, d := range dims {
		shape[i] = x.shape[d]
	}
	return fmt.Sprintf("%s.permute(%s)", x.name, strings.Trim(listOf(dims), "[]")), shape, x.dtype
}

func narrowed(s *sketch, x *value) (string, []int, string) {
	dim := s.rng.IntN(len(x.shape))
	start := s.rng.IntN(x.shape[dim] + 1)
	length := s.rng.IntN(x.shape[dim] - start + 1)
	shape := slices.Clone(x.shape)
	if length == 0 && !s.chance(4) { // empty tensors now and then
		start, length = 0, shape[dim]
	}
	shape[dim] = length
	return fmt.Sprintf("%s.narrow(%d, %d, %d)", x.name, dim, start, length), shape, x.dtype
}

func indexed(s *sketch, x *value) (string, []int, string) {
	n := x.shape[0]
	if n == 0 {
		return x.name + ".clone()", x.shape, x.dtype
	}
	rest := slices.Clone(x.shape[1:])
	switch s.rng.IntN(3) {
	case 0:
		return fmt.Sprintf("%s[%d]", x.name, s.rng.IntN(n)-n*s.rng.IntN(2)), rest, x.dtype
	case 1:
		index := []int{s.rng.IntN(n), s.rng.IntN(n), s.rng.IntN(n)}
		return fmt.Sprintf("%s[tensor(%s)]", x.name, listOf(index)), append([]int{3}, rest...), x.dtype
	default:
		start, step := s.rng.IntN(n), 1+s.rng.IntN(3)
		return fmt.Sprintf("%s[%d::%d]", x.name, start, step), append([]int{(n - start + step - 1) / step}, rest...), x.dtype
	}
}

func flattened(_ *sketch, x *value) (string, []int, string) {
	return x.name + ".flatten()", []int{x.numel()}, x.dtype
}

func reshaped(_ *sketch, x *value) (string, []int, string) {
	shape := append([]int{x.shape[0] * x.shape[1]}, x.shape[2:]...)
	return fmt.Sprintf("%s.reshape(%s)", x.name, listOf(shape)), shape, x.dtype
}

func joined(s *sketch, x *value) (string, []int, string) {
	dim := s.rng.IntN(len(x.shape))
	shape := slices.Clone(x.shape)
	shape[dim] *= 2
	return fmt.Sprintf("cat([%s, %s.flip([%d])], %d)", x.name, x.name, dim, dim), shape, x.dtype
}

func stacked(s *sketch, x *value) (string, []int, string) {
	dim := s.rng.IntN(len(x.shape) + 1)
	return fmt.Sprintf("stack([%s, %s], %d)", x.name, x.name, dim), slices.Insert(slices.Clone(x.shape), dim, 2), x.dtype
}

func padded(s *sketch, x *value) (string, []int, string) {
	left, right := s.rng.IntN(3), s.rng.IntN(3)
	shape := slices.Clone(x.shape)
	shape[len(shape)-1] += left + right
	return fmt.Sprintf("F.pad(%s, [%d, %d])", x.name, left, right), shape, x.dtype
}

func unsqueezed(s *sketch, x *value) (string, []int, string) {
	dim := s.rng.IntN(len(x.shape) + 1)
	return fmt.Sprintf("%s.unsqueeze(%d)", x.name, dim), slices.Insert(slices.Clone(x.shape), dim, 1), x.dtype
}

// halved takes the pieces of a chunk apart.
func halved(s *sketch, x *value) (string, []int, string) {
	dim := s.rng.IntN(len(x.shape))
	shape := slices.Clone(x.shape)
	shape[dim] = (shape[dim] + 1) / 2
	return fmt.Sprintf("%s.chunk(2, %d)[0] * 2.0", x.name, dim), shape, x.dtype
}

func normed(_ *sketch, x *value) (string, []int, string) {
	last := x.shape[len(x.shape)-1]
	return fmt.Sprintf("F.layer_norm(%s, [%d])", x.name, last), x.shape, x.dtype
}

// gram multiplies a tensor by its transpose.
func gram(_ *sketch, x *value) (string, []int, string) {
	shape := slices.Clone(x.shape)
	n := len(shape)
	if shape[n-2] > 64 { // no large products
		return x.name + " * 0.5", shape, x.dtype
	}
	shape[n-1] = shape[n-2]
	return fmt.Sprintf("matmul(%s, %s.transpose(-1, -2)) * 0.125", x.name, x.name), shape, x.dtype
}

func triangle(s *sketch, x *value) (string, []int, string) {
	return fmt.Sprintf("%s.%s(%d)", x.name, one(s, []string{"tril", "triu"}), s.rng.IntN(3)-1), x.shape, x.dtype
}

func converted(s *sketch, x *value) (string, []int, string) {
	to := s.dtype()
	from := x.name
	if x.isFloat() && (to == "int64" || to == "int32") { // what does not fit has no defined value
		from += ".nan_to_num().clamp(-100.0, 100.0)"
	}
	return fmt.Sprintf("%s.to(%s)", from, to), x.shape, to
}

func compared(s *sketch, x *value) (string, []int, string) {
	return fmt.Sprintf("%s.%s(1)", x.name, one(s, []string{"eq", "ne", "lt", "le", "gt", "ge"})), x.shape, "bool"
}

func maskedIn(s *sketch, x *value) (string, []int, string) {
	return strings.ReplaceAll(one(s, []string{"X.masked_fill(X.gt(1), 0)", "where(X.lt(0), X, X * 2)"}), "X", x.name), x.shape, x.dtype
}

// best takes the largest elements along a dim.
func best(s *sketch, x *value) (string, []int, string) {
	dim := s.rng.IntN(len(x.shape))
	shape := slices.Clone(x.shape)
	shape[dim] = 1 + s.rng.IntN(shape[dim])
	return fmt.Sprintf("%s.topk(%d, %d)[0]", x.name, shape[dim], dim), shape, x.dtype
}

// apply draws an operator for x and returns the call, as write does.
func (s *sketch) apply(x *value, smooth bool) (call string, shape []int, dtype string) {
	for {
		o := one(s, one(s, [][]operator{operators, operators, layers}))
		if (smooth && !o.smooth) || !o.takes(x) {
			continue
		}
		call, shape, dtype = o.write(s, x)
		if (&value{shape: shape}).numel() <= 200_000 {
			return call, shape, dtype
		}
	}
}
