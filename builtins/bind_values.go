package builtins

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// ToTensor returns v, which must be a tensor.
func ToTensor(v starlark.Value) (*tensor.Tensor, error) {
	switch v := v.(type) {
	case *Tensor:
		return v.Tensor()
	case starlark.Bool:
		return nil, arg.Bad(v, "a tensor", "== compares the values themselves; .eq() compares element by element")
	}
	return nil, arg.Bad(v, "a tensor", "")
}

// intsTensor returns v, a list or tuple of ints, as an int64 tensor.
func intsTensor(e *Env, v starlark.Value) (*tensor.Tensor, error) {
	list, err := arg.ToInts(v)
	if err != nil {
		return nil, err
	}
	elems := make([]int64, len(list))
	for i, n := range list {
		elems[i] = int64(n)
	}
	return op.FromInts(e.Runtime.Ops(), dtype.Int64, shape.Shape{len(list)}, elems)
}

// ToOperand returns v, a tensor or a number, as a tensor.
func ToOperand(v starlark.Value) (*tensor.Tensor, error) {
	switch v := v.(type) {
	case *Tensor:
		return v.Tensor()
	case starlark.Int:
		n, ok := v.Int64()
		if !ok {
			return nil, arg.Bad(v, "an int of 64 bits", "")
		}
		return tensor.Number(n), nil
	case starlark.Float:
		return tensor.Number(float64(v)), nil
	case complexNumber:
		return tensor.Number(complex128(v)), nil
	case starlark.Bool:
		return tensor.Number(bool(v)), nil
	case *Unknown:
		return v.operand()
	case *Varying:
		if v.Type() != "string" {
			return v.operand()
		}
	}
	return nil, arg.Bad(v, "a tensor or a number", "")
}

// ToTensors returns v, a list or tuple of tensors.
func ToTensors(v starlark.Value) ([]*tensor.Tensor, error) {
	var list arg.List
	if err := list.Unpack(v); err != nil {
		return nil, arg.Bad(v, "a list of tensors", "")
	}
	out := make([]*tensor.Tensor, len(list))
	for i, v := range list {
		x, ok := v.(*Tensor)
		if !ok {
			return nil, arg.BadItem(v, i, "a tensor")
		}
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		out[i] = t
	}
	return out, nil
}

// toOperands returns v, an operand, a list or tuple of them, or None, as tensors; of None a
// nil.
func toOperands(v starlark.Value) ([]*tensor.Tensor, error) {
	if v == starlark.None {
		return []*tensor.Tensor{nil}, nil
	}
	var list arg.List
	if !IsList(v) || list.Unpack(v) != nil {
		x, err := ToOperand(v)
		if err != nil {
			return nil, arg.Bad(v, "a tensor, a number or a list of them", "")
		}
		return []*tensor.Tensor{x}, nil
	}
	out := make([]*tensor.Tensor, len(list))
	for i, v := range list {
		x, err := ToOperand(v)
		if err != nil {
			return nil, arg.BadItem(v, i, "a tensor or a number")
		}
		out[i] = x
	}
	return out, nil
}

// toArg returns v as the argument of p, which takes no tensor.
func toArg(p *op.Param, v starlark.Value) (op.Arg, error) {
	switch p.Kind {
	case op.OptInt, op.OptDim, op.Dims, op.OptFloat, op.OptFloats, op.OptBool, op.OptDType, op.OptChoice:
		if v == starlark.None {
			return op.None, nil
		}
	}
	switch p.Kind {
	case op.Int, op.OptInt, op.Dim, op.OptDim:
		n, err := arg.ToInt(v)
		return op.Int1(n), err
	case op.Dims, op.Ints, op.Sizes:
		list, err := arg.ToInts(v)
		return op.Arg{Ints: list, Set: !p.OrEmpty || len(list) > 0 || err != nil}, err
	case op.IntOrSeq:
		if _, named := v.(starlark.String); named && p.Choices != nil {
			return toChoice(p, v)
		}
		if _, single := v.(starlark.Int); single {
			n, err := arg.ToInt(v)
			return op.Arg{Int: n}, err
		}
		if p.Open {
			return openSizes(v)
		}
		list, err := arg.ToInts(v)
		return op.Arg{Ints: list, Set: true}, err
	case op.IntOrTwo:
		return intOrTwo(v)
	case op.Float, op.OptFloat:
		if _, named := v.(starlark.String); named && p.Choices != nil {
			return toChoice(p, v)
		}
		var f arg.Float
		err := f.Unpack(v)
		return op.Float1(float64(f)), err
	case op.Floats, op.OptFloats:
		list, err := toFloats(v)
		return op.Arg{Floats: list, Set: true}, err
	case op.Bool, op.OptBool:
		var b arg.Bool
		err := b.Unpack(v)
		return op.Bool1(bool(b)), err
	case op.DType, op.OptDType:
		var d arg.DType
		err := d.Unpack(v)
		return op.Int1(int(d.D)), err
	case op.Choice, op.OptChoice:
		return toChoice(p, v)
	case op.String:
		var s arg.String
		err := s.Unpack(v)
		return op.Str1(string(s)), err
	}
	panic(fmt.Sprintf("builtins: parameter %s has a kind without a reader", p.Name))
}

// toFloats returns v, a number or a list or tuple of them, as a slice.
func toFloats(v starlark.Value) ([]float64, error) {
	var list arg.List
	if list.Unpack(v) != nil {
		var f arg.Float
		if f.Unpack(v) != nil {
			return nil, arg.Bad(v, "a number or a list of numbers", "")
		}
		return []float64{float64(f)}, nil
	}
	out := make([]float64, len(list))
	for i, v := range list {
		var f arg.Float
		if f.Unpack(v) != nil {
			return nil, arg.BadItem(v, i, "a number")
		}
		out[i] = float64(f)
	}
	return out, nil
}

// toChoice returns v, which is one of p's choices.
func toChoice(p *op.Param, v starlark.Value) (op.Arg, error) {
	s, ok := starlark.AsString(v)
	if ok && slices.Contains(p.Choices, s) {
		return op.Str1(s), nil
	}
	return op.None, arg.Bad(v, oneOf(p.Choices), arg.Nearest(s, p.Choices))
}

// openSizes returns the argument of sizes some of which may be None.
func openSizes(v starlark.Value) (op.Arg, error) {
	list, ok := v.(starlark.Indexable)
	if v == starlark.None {
		return op.Arg{Int: op.OpenSize}, nil
	} else if !ok || !IsList(v) {
		return op.Arg{}, arg.Bad(v, "an int, None or a list of them", "")
	}
	sizes := make([]int, list.Len())
	for i := range sizes {
		item := list.Index(i)
		if item == starlark.None {
			sizes[i] = op.OpenSize
			continue
		}
		var err error
		if sizes[i], err = arg.ToInt(item); err != nil {
			return op.Arg{}, arg.BadItem(item, i, "an int or None")
		}
	}
	return op.Arg{Ints: sizes, Set: true}, nil
}

// intOrTwo returns the argument that is an int, or two lists of as many ints.
func intOrTwo(v starlark.Value) (op.Arg, error) {
	if n, err := arg.ToInt(v); err == nil {
		return op.Arg{Int: n}, nil
	}
	var pair arg.List
	if !IsList(v) || pair.Unpack(v) != nil || len(pair) != 2 {
		return op.Arg{}, arg.Bad(v, "an int, or two lists of dims", "")
	}
	a, err := arg.ToInts(pair[0])
	if err != nil {
		return op.Arg{}, arg.BadItem(pair[0], 0, "a list of dims")
	}
	b, err := arg.ToInts(pair[1])
	if err != nil {
		return op.Arg{}, arg.BadItem(pair[1], 1, "a list of dims")
	}
	if len(a) != len(b) {
		return op.Arg{}, arg.Bad(v, "two lists of as many dims", "")
	}
	return op.Arg{Ints: append(a, b...), Set: true}, nil
}
