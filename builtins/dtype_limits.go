package builtins

import (
	"math"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
)

func init() {
	Register(&Row{
		Name: "finfo",
		Doc: "finfo(dtype=default) returns the limits of a float dtype: struct(bits, eps, max, min, tiny, smallest_normal, dtype).\n" +
			"eps is the distance from 1 to the next number, min is -max, tiny and smallest_normal are the least positive number of full precision.\n" +
			">>> finfo(float16).max, finfo(bfloat16).eps\n(65504.0, 0.0078125)",
		Fn: floatLimits,
	}, &Row{
		Name: "iinfo",
		Doc: "iinfo(dtype) returns the limits of an integer dtype: struct(bits, max, min, dtype).\n" +
			">>> iinfo(uint8).max, iinfo(int32).min\n(255, -2147483648)",
		Fn: intLimits,
	})
}

// A floatFormat is a format of IEEE's kind: how many bits its fraction has, and
// the exponents of its least and its greatest normal number. In spare is the part of
// the greatest power of two by which the greatest number falls short of its fraction's
// all ones: of float8_e4m3fn these are NaN.
type floatFormat struct {
	fraction, least, greatest int
	spare                     float64
}

var floatFormats = map[dtype.DType]floatFormat{
	dtype.Float16: {10, -14, 15, 0}, dtype.BFloat16: {7, -126, 127, 0}, dtype.Float32: {23, -126, 127, 0}, dtype.Float64: {52, -1022, 1023, 0},
	dtype.Float8E4M3FN: {3, -6, 8, 0.125}, dtype.Float8E5M2: {2, -14, 15, 0},
}

// Epsilon returns the distance from 1 to the next number of d, a float dtype.
func Epsilon(d dtype.DType) float64 { return math.Ldexp(1, -floatFormats[d].fraction) }

func floatLimits(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var dt arg.OptDType
	if err := arg.Unpack(b.Name(), args, kwargs, "dtype?", &dt); err != nil {
		return nil, err
	}
	d := e.Runtime.Ops().Float
	if dt.Set {
		d = dt.V.D
	}
	f, ok := floatFormats[d]
	if !ok {
		return nil, arg.In(b.Name(), "dtype", arg.Bad(DtypeOf(d), "a float dtype", "iinfo has those of integers"))
	}
	eps := Epsilon(d)
	largest, tiny := starlark.Float(math.Ldexp(2-eps-f.spare, f.greatest)), starlark.Float(math.Ldexp(1, f.least))
	return starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
		"bits": starlark.MakeInt(8 * d.Size()), "eps": starlark.Float(eps), "max": largest, "min": -largest,
		"tiny": tiny, "smallest_normal": tiny, "dtype": DtypeOf(d),
	}), nil
}

func intLimits(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var dt arg.DType
	if err := arg.Unpack(b.Name(), args, kwargs, "dtype", &dt); err != nil {
		return nil, err
	}
	d := dt.D
	if !d.IsInt() {
		return nil, arg.In(b.Name(), "dtype", arg.Bad(DtypeOf(d), "an integer dtype", "finfo has those of floats"))
	}
	bits := 8 * d.Size()
	lo, hi := d.Limits()
	least, most := starlark.MakeInt64(lo), starlark.MakeInt64(hi)
	if d == dtype.Uint64 {
		most = starlark.MakeUint64(math.MaxUint64)
	}
	return starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
		"bits": starlark.MakeInt(bits), "max": most, "min": least, "dtype": DtypeOf(d),
	}), nil
}
