package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// A dtypeValue is a dtype as scripts have it: float32, x.dtype.
type dtypeValue struct{ d dtype.DType }

// A boolType is the dtype bool, which is also Starlark's function bool.
type boolType struct{ dtypeValue }

var (
	_ arg.HasDType      = dtypeValue{}
	_ arg.HasDType      = boolType{}
	_ starlark.Callable = boolType{}
)

// DtypeOf returns d as scripts have it.
func DtypeOf(d dtype.DType) starlark.Value {
	if d == dtype.Bool {
		return boolType{dtypeValue{d}}
	}
	return dtypeValue{d}
}

func (d dtypeValue) DType() dtype.DType    { return d.d }
func (d dtypeValue) Describe() string      { return d.d.String() }
func (d dtypeValue) String() string        { return d.d.String() }
func (d dtypeValue) Type() string          { return "dtype" }
func (d dtypeValue) Freeze()               {}
func (d dtypeValue) Truth() starlark.Bool  { return starlark.True }
func (d dtypeValue) Hash() (uint32, error) { return starlark.String(d.d.String()).Hash() }

// Name returns "bool", as the name of a function.
func (boolType) Name() string { return "bool" }

// CallInternal is Starlark's bool(x): the truth of x. That of a tensor is its
// one element's.
func (boolType) CallInternal(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 1 && len(kwargs) == 0 {
		if x, ok := args[0].(*Tensor); ok {
			yes, err := x.truth()
			return starlark.Bool(yes), err
		}
	}
	return starlark.Call(thread, starlark.Universe["bool"], args, kwargs)
}

// limited says of unsigned integers what they mix with.
const limited = " Beside floats, bools and\nnumbers it is as other integers are; beside another integer dtype it is refused, as by PyTorch."

func init() {
	doc := map[dtype.DType]string{
		dtype.Float32:  "float32 is the dtype of 32-bit floats, the default one.",
		dtype.Float64:  "float64 is the dtype of 64-bit floats.",
		dtype.Float16:  "float16 is the dtype of IEEE 16-bit floats. Arithmetic on them is done in\nfloat32 and rounded once.",
		dtype.BFloat16: "bfloat16 is the dtype of floats with the range of float32 and 8 bits of\nprecision. Arithmetic on them is done in float32 and rounded once.",
		dtype.Int64:    "int64 is the dtype of 64-bit integers.",
		dtype.Int32:    "int32 is the dtype of 32-bit integers.",
		dtype.Uint8:    "uint8 is the dtype of integers from 0 to 255.",
		dtype.Int16:    "int16 is the dtype of 16-bit integers. Sums of them are of int64.\n>>> tensor([1, 2], dtype=int16) + tensor([1, 2], dtype=int8)\n[2 4] dtype=int16",
		dtype.Int8:     "int8 is the dtype of integers from -128 to 127. Beside uint8 it becomes int16.\n>>> (ones(1, dtype=int8) + ones(1, dtype=uint8)).dtype\nint16",
		dtype.Uint16:   "uint16 is the dtype of integers from 0 to 65535." + limited,
		dtype.Uint32:   "uint32 is the dtype of integers from 0 to 4294967295." + limited,
		dtype.Uint64: "uint64 is the dtype of 64-bit integers from 0 on. It is kept, moved, added, multiplied and\n" +
			"converted; what would have to order or divide refuses it, and so does what would mix it with another integer dtype.\n" +
			">>> tensor([18446744073709551615], dtype=uint64).tolist()\n[18446744073709551615]",
		dtype.Float8E4M3FN: "float8_e4m3fn is the dtype of floats of 8 bits: 4 of exponent, 3 of fraction, up to 448, which it keeps of\n" +
			"what is greater. It is for keeping, moving and converting: other operators ask for .to(float32).\n" +
			">>> tensor([0.3, 1000.0]).to(float8_e4m3fn).tolist()\n[0.3125, 448.0]",
		dtype.Float8E5M2: "float8_e5m2 is the dtype of floats of 8 bits: 5 of exponent, 2 of fraction, up to 57344, and infinities.\n" +
			"It is for keeping, moving and converting: other operators ask for .to(float32).\n" +
			">>> tensor([0.3, 1000.0]).to(float8_e5m2).tolist()\n[0.3125, 1024.0]",
		dtype.Complex64:  "complex64 is the dtype of complex numbers of two 32-bit floats. Arithmetic, products,\nsums, fft and gradients take them; what has no complex form refuses.\n>>> tensor([complex(1, 2)]).dtype\ncomplex64",
		dtype.Complex128: "complex128 is the dtype of complex numbers of two 64-bit floats.",
		dtype.Bool: "bool is the dtype of truths, and a function: bool(x) returns the truth of x.\n" +
			"The truth of a tensor is that of its one element.\n" +
			">>> bool(tensor([0.0]))\nFalse\n" +
			">>> zeros(2, dtype=bool)\n[False False]",
	}
	for _, d := range dtype.All {
		Register(&Row{Name: d.String(), Doc: doc[d], Value: func() starlark.Value { return DtypeOf(d) }})
	}
	Register(&Row{
		Name: "float",
		Doc: "float(x=0) returns x as a float: a number, a string, a truth, or a tensor of one element.\n" +
			">>> float(tensor([2]))\n2.0",
		Fn: convert("float", toFloat),
	}, &Row{
		Name: "int",
		Doc: "int(x=0, base=10) returns x as an int: a number, cut towards zero, a string, a truth, or a tensor of one element.\n" +
			">>> int(tensor(-2.5))\n-2",
		Fn: convert("int", starlark.NumberToInt),
	}, &Row{
		Name: "set_default_dtype",
		Doc: "set_default_dtype(dtype) sets the dtype of floats that are given none: a float dtype.\n" +
			">>> set_default_dtype(float64)\n" +
			">>> ones(2).dtype\nfloat64",
		Fn: setDefaultDType,
	})
}

// convert returns Starlark's function name, which takes one-element tensors
// too: conv converts their element.
func convert[T starlark.Value](name string, conv func(starlark.Value) (T, error)) Function {
	return func(_ *Env, thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) != 1 || len(kwargs) != 0 {
			return starlark.Call(thread, starlark.Universe[name], args, kwargs)
		}
		x, ok := args[0].(*Tensor)
		if u, unknown := args[0].(*Unknown); unknown {
			return &Unknown{u.env, name}, nil
		}
		if !ok {
			return starlark.Call(thread, starlark.Universe[name], args, kwargs)
		}
		v, err := x.item(name)
		if err != nil {
			return nil, err
		}
		if u, unknown := v.(*Unknown); unknown {
			return &Unknown{u.env, name}, nil
		}
		if b, ok := v.(starlark.Bool); ok {
			return starlark.Call(thread, starlark.Universe[name], starlark.Tuple{b}, nil)
		}
		y, err := conv(v)
		if err != nil {
			return nil, &op.ArgError{Func: name, Param: "x", Got: arg.Show(v), Want: "a finite number"}
		}
		return y, nil
	}
}

// toFloat returns the number v as a float.
func toFloat(v starlark.Value) (starlark.Float, error) {
	f, _ := starlark.AsFloat(v)
	return starlark.Float(f), nil
}

func setDefaultDType(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var d arg.DType
	if err := arg.Unpack(b.Name(), args, kwargs, "dtype", &d); err != nil {
		return nil, err
	}
	if !d.D.IsFloat() || d.D.IsFloat8() {
		return nil, &op.ArgError{Func: b.Name(), Param: "dtype", Got: d.D.String(), Want: "a float dtype"}
	}
	e.Runtime.Ops().Float = d.D
	return starlark.None, nil
}
