package op

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// This file says which operators take the limited dtypes: uint16, uint32 and uint64,
// between which and other integers PyTorch has no promotion, and the floats of 8 bits,
// which are kept and converted and hardly calculated with.

// limitedMoves are operators that take limited dtypes beside any other: what they make
// is of the dtype of the first input, or of the one that they are asked for.
var limitedMoves = nameSet("T", "at", "causal_like", "chunk", "clone", "contiguous", "copy", "copy_", "embedding", "empty_like", "expand", "fill", "fill_",
	"blank_beside", "flatten", "flip", "flip_mirrored", "full", "full_like", "gather", "getitem", "index", "index_copy", "index_put", "index_put_", "index_select", "keep_like", "masked_fill",
	"lattice_view", "masked_select", "mirror_blocks", "narrow", "nonzero", "ones", "ones_like", "pad", "permute", "region_get", "region_set", "region_spread", "repeat", "reshape", "roll",
	"scatter_put", "select", "setitem", "setitem_", "settle", "slice", "split", "squeeze", "to", "transpose", "tril", "triu", "unpool_put", "unsqueeze", "window_get", "window_put",
	"zero", "zero_", "zeros", "zeros_like")

// float8Also are further operators that take floats of 8 bits.
var float8Also = nameSet("abs", "cat", "eq", "equal", "isfinite", "isnan", "matmul", "mul", "ne", "neg", "stack", "where")

// ordered are operators that compare integers, or divide them, as int64, which has no
// room for half of those of uint64.
var ordered = nameSet("amax", "amin", "argmax", "argmin", "clamp", "clamp_", "element_at", "floordiv", "fmod", "ge", "gt", "le", "lt", "max", "maximum", "min", "minimum", "mod",
	"places_in", "relu", "running_extreme", "scatter_fold", "sign", "sort", "topk")

// byIndex are operators that an index tensor of another integer dtype belongs to.
var byIndex = nameSet("index_spread", "scatter_add", "scatter_fold")

// refuseLimited returns an error if an input, or the dtype asked for, is a limited one
// that the operator does not take.
func (c *Call) refuseLimited() error {
	var like *tensor.Tensor
	for i, x := range c.In {
		if x == nil || !x.DType().Limited() {
			continue
		}
		if limitedMoves[c.Def.Name] {
			return nil
		}
		switch dt := x.DType(); {
		case dt.IsFloat8() && !float8Also[c.Def.Name]:
			return c.Bad(c.InName(i), Describe(x), "a tensor of another dtype", dt.String()+" is for keeping and moving: convert with .to(float32)")
		case dt == dtype.Uint64 && ordered[c.Def.Name]:
			return c.Bad(c.InName(i), Describe(x), "a tensor of another dtype", "uint64 is not ordered here: convert with .to(int64)")
		}
		like = x
	}
	if like != nil && !byIndex[c.Def.Name] {
		return c.refuseMixed(like.DType())
	}
	if at := c.Def.dtypeArg; at > 0 && c.Args[at-1].Set && !limitedMoves[c.Def.Name] {
		if dt := dtype.DType(c.Args[at-1].Int); dt.IsFloat8() {
			return c.Bad(c.argName(at-1), dt.String(), "another dtype", "it is for keeping and moving: convert with .to("+dt.String()+")")
		}
	}
	return nil
}

// refuseMixed returns an error if an input has a dtype between which and dt, which is
// limited, there is no promotion: another integer, or for floats of 8 bits any number.
// Bools, numbers of a script and, for integers, floats are no such.
func (c *Call) refuseMixed(dt dtype.DType) error {
	for i, y := range c.In {
		if y == nil || y.DType() == dt || y.Weak() || y.DType() == dtype.Bool || dt.IsInt() && !y.DType().IsInt() {
			continue
		}
		return c.Bad(c.InName(i), Describe(y)+" with "+dt.String(), "tensors of one dtype", "there is no promotion between these: convert one with .to()")
	}
	return nil
}
