package rundiff

import (
	"encoding/binary"
	"fmt"
	"math"

	"tpsh/builtins/torchfile"
)

// sizeOf returns the size of an element in bytes.
func sizeOf(dtype string) int { return torchfile.DType(dtype).Size() }

// numbers returns the elements of a tensor as numbers; of a complex one, each has two,
// the last dim.
func numbers(dtype string, shape []int, data []byte) (*array, error) {
	le := binary.LittleEndian
	size, decode := sizeOf(dtype), (func([]byte) float64)(nil)
	switch dtype {
	case "float32":
		decode = func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }
	case "float64":
		decode = func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }
	case "bfloat16":
		decode = func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) }
	case "float16":
		decode = func(b []byte) float64 { return half(le.Uint16(b)) }
	case "int64":
		decode = func(b []byte) float64 { return float64(int64(le.Uint64(b))) }
	case "uint64":
		decode = func(b []byte) float64 { return float64(le.Uint64(b)) }
	case "int32":
		decode = func(b []byte) float64 { return float64(int32(le.Uint32(b))) }
	case "uint32":
		decode = func(b []byte) float64 { return float64(le.Uint32(b)) }
	case "int16":
		decode = func(b []byte) float64 { return float64(int16(le.Uint16(b))) }
	case "uint16":
		decode = func(b []byte) float64 { return float64(le.Uint16(b)) }
	case "int8":
		decode = func(b []byte) float64 { return float64(int8(b[0])) }
	case "float8_e4m3fn":
		decode = func(b []byte) float64 { return float8(b[0], 3, 7, b[0]&0x7f == 0x7f) }
	case "float8_e4m3fnuz":
		decode = func(b []byte) float64 { return float8(b[0], 3, 8, b[0] == 0x80) }
	case "float8_e5m2":
		decode = func(b []byte) float64 { return half(uint16(b[0]) << 8) }
	case "float8_e5m2fnuz":
		decode = func(b []byte) float64 { return float8(b[0], 2, 16, b[0] == 0x80) }
	case "float8_e8m0fnu": // a scale: a power of two
		decode = func(b []byte) float64 {
			if b[0] == 0xff {
				return math.NaN()
			}
			return math.Ldexp(1, int(b[0])-127)
		}
	case "uint8", "bool":
		decode = func(b []byte) float64 { return float64(b[0]) }
	case "complex64":
		return numbers("float32", append(append([]int(nil), shape...), 2), data)
	case "complex128":
		return numbers("float64", append(append([]int(nil), shape...), 2), data)
	default:
		return nil, fmt.Errorf("elements of %s are not compared", dtype)
	}
	a := &array{shape, make([]float64, len(data)/size)}
	for i := range a.data {
		a.data[i] = decode(data[i*size:])
	}
	return a, nil
}

// half returns the number that 16 bits of IEEE 754 are.
func half(b uint16) float64 {
	sign, exp, frac := 1-2*float64(b>>15), int(b>>10&31), float64(b&1023)
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

// float8 returns the number that 8 bits are of which the last mant are the fraction, and nan says that they are none.
func float8(b byte, mant, bias int, nan bool) float64 {
	if nan {
		return math.NaN()
	}
	sign, exp, frac := 1-2*float64(b>>7), int(b&0x7f)>>mant, float64(int(b)&(1<<mant-1))
	if exp == 0 {
		return sign * math.Ldexp(frac, 1-bias-mant)
	}
	return sign * math.Ldexp(math.Ldexp(1, mant)+frac, exp-bias-mant)
}

// epsilon returns the relative spacing of a dtype's numbers; 0 of integers.
func epsilon(dtype string) float64 {
	switch dtype {
	case "float64", "complex128":
		return 0x1p-52
	case "float32", "complex64":
		return 0x1p-23
	case "float16":
		return 0x1p-10
	case "bfloat16":
		return 0x1p-7
	case "float8_e4m3fn", "float8_e4m3fnuz":
		return 0x1p-3
	case "float8_e5m2", "float8_e5m2fnuz":
		return 0x1p-2
	}
	return 0
}

// roundBF16 returns x rounded to bfloat16.
func roundBF16(x float64) float64 {
	b := math.Float32bits(float32(x))
	if b&0x7f800000 == 0x7f800000 {
		return x
	}
	b += 0x7fff + b>>16&1
	return float64(math.Float32frombits(b &^ 0xffff))
}

// roundHalf returns x rounded to float16.
func roundHalf(x float64) float64 {
	if x == 0 || math.Abs(x) >= 65520 || x != x {
		return x
	}
	_, exp := math.Frexp(x)
	unit := math.Ldexp(1, max(exp-11, -24))
	return math.RoundToEven(x/unit) * unit
}

// precision returns the dtype that the elements of a have at most, whatever the dtype is
// in which they are stored: "bfloat16" or "float16" where all are such numbers. Small
// whole numbers, and those of few digits, are so in any dtype and do not count.
func precision(a *array, dtype string) string {
	if dtype != "float32" && dtype != "float64" || len(a.data) < 4 {
		return dtype
	}
	bf, h, n := true, true, 0
	for _, v := range a.data {
		if v == 0 || math.IsInf(v, 0) || v != v {
			continue
		}
		if !plain(v) {
			n++
		}
		bf, h = bf && roundBF16(v) == v, h && roundHalf(v) == v
	}
	switch {
	case n < 4:
		return dtype
	case bf:
		return "bfloat16"
	case h:
		return "float16"
	}
	return dtype
}

// plain reports whether v is a whole number of at most 256, or has at most four binary
// digits.
func plain(v float64) bool {
	frac, _ := math.Frexp(v)
	return v == math.Trunc(v) && math.Abs(v) <= 256 || frac*16 == math.Trunc(frac*16)
}
