package advice

import (
	"slices"
	"strings"
)

// Methods are methods of tensors that PyTorch has as functions too, and that
// people write as such.
var Methods = strings.Fields(`
	absolute acos acosh add add_ alias_copy allclose arccos arccosh arcsin arcsinh arctan arctanh argmax argmin
	asin asinh atan atanh backward ceil chunk clamp clone contiguous copy_ cos cosh cumsum detach digamma div
	divide eq equal erf erfc erfinv exp exp2 expand expand_copy expm1 fill_ fix flatten flip floor ge get_device
	greater greater_equal gt index_copy index_put index_select is_nonzero is_signed isfinite isnan item le less
	less_equal lgamma log10 log1p log2 log_softmax logsumexp lt masked_fill masked_select matrix_exp mean mul mul_
	multiply narrow ne neg negative nonzero norm not_equal numel permute prod reciprocal repeat reshape roll rsqrt
	scatter_add select sigmoid sign sin sinh size sort split split_with_sizes sqrt squeeze std sub subtract t tan
	tanh tolist topk transpose tril triu true_divide trunc type_as unsafe_chunk unsafe_split unsqueeze var view
	zero_`)

// method says how the method called name is called, or "" if it is none of Methods.
func method(name string) string {
	if !slices.Contains(Methods, name) {
		return ""
	}
	return "it is a method of tensors: write x." + name + "(...)"
}
