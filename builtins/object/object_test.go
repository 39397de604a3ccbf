package object

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"
)

// eval returns the value of a Starlark expression.
func eval(t *testing.T, expr string) starlark.Value {
	t.Helper()
	v, err := starlark.EvalOptions(&syntax.FileOptions{Set: true}, new(starlark.Thread), "test.star", expr, starlark.StringDict{"inf": starlark.Float(math.Inf(1))})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRoundTrip(t *testing.T) {
	for _, expr := range []string{
		"None", "True", "False", "0", "-1", "1 << 62", "-(1 << 63)", "1 << 63", "(1 << 200) + 7", "-(1 << 200)",
		"0.0", "-0.0", "1.5", "inf", "-inf", "float('nan')", `""`, `"naïve\x00"`,
		"[]", "()", "{}", "(1,)", `[None, [1, (2.0, "x")], {"a": {"b": []}}]`, `{"z": 1, "a": 2}`,
	} {
		v := eval(t, expr)
		data, err := Append(nil, v, nil)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		got, err := Decode(data)
		if err != nil || got.String() != v.String() || got.Type() != v.Type() {
			t.Errorf("%s: got %v, %v", expr, got, err)
		}
	}
}

func TestNegativeZero(t *testing.T) {
	data, _ := Append(nil, starlark.Float(math.Copysign(0, -1)), nil)
	v, err := Decode(data)
	if f, ok := v.(starlark.Float); !ok || err != nil || !math.Signbit(float64(f)) {
		t.Errorf("got %v, %v, want -0.0", v, err)
	}
}

func TestAppendErrors(t *testing.T) {
	self := starlark.NewList(nil)
	self.Append(starlark.Tuple{self})
	deep := starlark.Value(starlark.None)
	for range maxDepth + 1 {
		deep = starlark.Tuple{deep}
	}
	tests := []struct {
		v    starlark.Value
		want string
	}{
		{eval(t, "len"), "a builtin_function_or_method"},
		{eval(t, `{"a": [1, range(3)]}`), `a range at ["a"][1]`},
		{eval(t, "[{1: 2}]"), "a dict that has the key 1 at [0]"},
		{eval(t, "set([1])"), "a set"},
		{self, "a list that contains itself at [0][0]"},
		{deep, "a tuple that stands in 1000 others"},
	}
	for _, test := range tests {
		_, err := Append(nil, test.v, nil)
		var bad *Error
		if !errors.As(err, &bad) || err.Error() != test.want {
			t.Errorf("Append(%.30v): got error %v, want %q", test.v, err, test.want)
		}
	}
}

// A list may stand in another twice, as long as it does not contain itself.
func TestSharedParts(t *testing.T) {
	part := starlark.NewList([]starlark.Value{starlark.None})
	if _, err := Append(nil, starlark.Tuple{part, part}, nil); err != nil {
		t.Error(err)
	}
}

func TestOther(t *testing.T) {
	data, err := Append(nil, eval(t, "[1, len]"), func(dst []byte, v starlark.Value) ([]byte, error) {
		return append(dst, "?"+v.Type()...), nil
	})
	if want := "l\x02i\x02?builtin_function_or_method"; err != nil || string(data) != want {
		t.Errorf("got %q, %v, want %q", data, err, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ data, want string }{
		{"", "ends early"},
		{"x", "unknown tag"},
		{"NN", "1 bytes after the value"},
		{"s\x05abc", "ends early"},
		{"l\xff\xff\xff\xff\xff\x01", "ends early"},
		{"i\x80\x00", "longer than need be"},
		{"I\x00\x01\x05", "longer than need be"},
		{"I\x00\x00", "longer than need be"},
		{"d1234567", "ends early"},
		{"m\x02\x01aN\x01aN", "a key twice"},
		{strings.Repeat("l\x01", 2000) + "N", "nested too deep"},
	}
	for _, test := range tests {
		v, err := Decode([]byte(test.data))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Decode(%.20q): got %v, %v, want an error with %q", test.data, v, err, test.want)
		}
	}
}

// values generates values of up to so many levels.
func values(depth int) *rapid.Generator[starlark.Value] {
	leaves := []*rapid.Generator[starlark.Value]{
		rapid.Just[starlark.Value](starlark.None),
		rapid.Map(rapid.Bool(), func(b bool) starlark.Value { return starlark.Bool(b) }),
		rapid.Map(rapid.Int64(), func(n int64) starlark.Value { return starlark.MakeInt64(n) }),
		rapid.Map(rapid.Int64(), func(n int64) starlark.Value {
			return starlark.MakeInt64(n).Mul(starlark.MakeInt64(n)).Mul(starlark.MakeInt64(n))
		}),
		rapid.Map(rapid.Float64(), func(f float64) starlark.Value { return starlark.Float(f) }),
		rapid.Map(rapid.String(), func(s string) starlark.Value { return starlark.String(s) }),
	}
	if depth > 0 {
		inner := rapid.SliceOfN(values(depth-1), 0, 4)
		leaves = append(leaves,
			rapid.Map(inner, func(l []starlark.Value) starlark.Value { return starlark.NewList(l) }),
			rapid.Map(inner, func(l []starlark.Value) starlark.Value { return starlark.Tuple(l) }),
			rapid.Map(rapid.MapOfN(rapid.String(), values(depth-1), 0, 4), func(m map[string]starlark.Value) starlark.Value {
				d := new(starlark.Dict)
				for k, v := range m {
					d.SetKey(starlark.String(k), v)
				}
				return d
			}))
	}
	return rapid.OneOf(leaves...)
}

// What is decoded is what was encoded.
func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "v")
		data, err := Append(nil, v, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if equal, err := starlark.Equal(got, v); !equal || err != nil {
			t.Fatalf("got %v, want %v", got, v)
		}
	})
}

// FuzzDecode: what can be decoded is encoded as the same bytes.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("m\x02\x01ai\x02\x01bl\x02NT"))
	f.Add([]byte("u\x01I\x01\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("d\x00\x00\x00\x00\x00\x00\xf8\x7f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Append(nil, v, nil)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q is encoded again as %q, %v", data, again, err)
		}
	})
}
