package pickle

import (
	"math"
	"math/big"
	"reflect"
	"testing"
)

// What Append writes Read reads as the same.
func TestAppend(t *testing.T) {
	huge, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	d := new(Dict)
	d.Set("a", Tuple{int64(1), nil})
	d.Set(int64(2), &List{[]any{true, false, 1.5, math.Inf(-1)}})
	for _, v := range []any{
		nil, true, int64(0), int64(-1), int64(255), int64(math.MaxInt64), int64(math.MinInt64), huge, new(big.Int).Neg(huge),
		0.25, "", "é\x00", Tuple{}, Tuple{"x", Tuple{int64(128)}}, new(List), new(Dict), d, []byte("\x00\xff"),
		&Object{Class: "a.b.C", State: d},
		&Object{Class: "a.F", Args: Tuple{int64(3)}},
	} {
		b, err := Append(nil, v)
		if err != nil {
			t.Errorf("%v: %v", v, err)
			continue
		}
		got, rest, err := Read(b, &Options{Global: func(module, name string) (any, error) { return Class(module + "." + name), nil }})
		if o, ok := got.(*Object); ok && len(o.Args) == 0 {
			o.Args = nil
		}
		if err != nil || len(rest) > 0 || !same(got, v) {
			t.Errorf("%#v: got %#v, %d bytes, %v", v, got, len(rest), err)
		}
	}
	loop := new(List)
	loop.Items = []any{loop}
	for _, v := range []any{loop, make(chan int), Class("x"), Class("a.b\nc")} {
		if _, err := Append(nil, v); err == nil {
			t.Errorf("%T: got no error", v)
		}
	}
}

// same reports whether a and b are alike, an empty list being like any other.
func same(a, b any) bool {
	x, ok := a.(*List)
	y, ok2 := b.(*List)
	if ok && ok2 && len(x.Items)+len(y.Items) == 0 {
		return true
	}
	return reflect.DeepEqual(a, b)
}
