package operator

import (
	"math"
	"math/big"

	"go.starlark.net/starlark"

	"tpsh/internal/libm"
)

// Pow returns x ** y.
func Pow(x, y starlark.Value) (starlark.Value, error) {
	if a, ok := x.(HasPower); ok {
		if v, err := a.Power(y, starlark.Left); v != nil || err != nil {
			return v, err
		}
	}
	if b, ok := y.(HasPower); ok {
		if v, err := b.Power(x, starlark.Right); v != nil || err != nil {
			return v, err
		}
	}
	a, ok1 := x.(starlark.Int)
	b, ok2 := y.(starlark.Int)
	if ok1 && ok2 && b.Sign() >= 0 {
		return intPower(a, b)
	}
	f, ok1 := number(x)
	g, ok2 := number(y)
	if !ok1 || !ok2 {
		return nil, errorf("**", "got %s and %s, want numbers or tensors", describe(x), describe(y))
	}
	return floatPower(f, g)
}

// number returns an int or a float as a float.
func number(v starlark.Value) (float64, bool) {
	switch v := v.(type) {
	case starlark.Int:
		return float64(v.Float()), true
	case starlark.Float:
		return float64(v), true
	}
	return 0, false
}

// maxBits bounds the ints that ** makes: more is a slip of the keyboard.
const maxBits = 1 << 20

func intPower(a, b starlark.Int) (starlark.Value, error) {
	base := a.BigInt()
	if base.IsInt64() && (base.Int64() == 0 || base.Int64() == 1 || base.Int64() == -1) {
		if b.Sign() == 0 || base.Int64() == -1 && b.BigInt().Bit(0) == 0 {
			return starlark.MakeInt(1), nil
		}
		return a, nil
	}
	n, ok := b.Int64()
	if !ok || n > maxBits || int64(base.BitLen()-1)*n > maxBits {
		return nil, errorf("**", "got %s and %s, want an int of at most %d bits (a float, as 2.0 ** n, may be as large as 1e308)", short(a), short(b), maxBits)
	}
	return starlark.MakeBigInt(new(big.Int).Exp(base, big.NewInt(n), nil)), nil
}

// short returns an int, if it has few digits.
func short(n starlark.Int) string {
	if s := n.String(); len(s) <= 20 {
		return s
	}
	return "an int of many digits"
}

func floatPower(x, y float64) (starlark.Value, error) {
	if x == 0 && y < 0 {
		return nil, errorf("**", "got 0 and %v, want a power that is not negative", y)
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(y, 0) {
		return nil, errorf("**", "got %v and %v, want an integral power of a negative number", x, y)
	}
	return starlark.Float(libm.Pow(x, y)), nil
}
