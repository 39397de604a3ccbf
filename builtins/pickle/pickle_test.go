package pickle

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// show writes a value as Python does, to a depth.
func show(v any, depth int) string {
	if depth == 0 {
		return "…"
	}
	list := func(open, end string, items []any) string {
		var out []string
		for _, it := range items {
			out = append(out, show(it, depth-1))
		}
		return open + strings.Join(out, ", ") + end
	}
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []byte:
		return fmt.Sprintf("b%q", v)
	case *List:
		return list("[", "]", v.Items)
	case Tuple:
		return list("(", ")", v)
	case *Set:
		return list("{", "}", v.Items)
	case *Dict:
		var out []string
		for k, x := range v.All() {
			out = append(out, show(k, depth-1)+": "+show(x, depth-1))
		}
		return "{" + strings.Join(out, ", ") + "}"
	case *Object:
		return v.Class + show(v.Args, depth-1)
	}
	return fmt.Sprint(v)
}

// The files hold one value as Python 3 writes it in each protocol:
//
//	shared = [1]
//	{"none": None, "bools": [True, False], "ints": […], …, "self": a list that contains itself}
func TestProtocols(t *testing.T) {
	want := []string{
		`"none": <nil>`, `"bools": [true, false]`,
		`"ints": [0, -1, 255, 256, 65535, 65536, -2147483648, 2147483648, 9223372036854775807, -9223372036854775808, 9223372036854775808, -1180591620717411303424]`,
		`"floats": [0, 1.5, -1e+300, +Inf]`,
		`"text": ["", "plain", "é\n\\u'\"", "😀", "` + strings.Repeat("x", 300) + `"]`,
		`"bytes": [b"", b"\x00\xff'\\", b"` + strings.Repeat("y", 300) + `"]`,
		`"tuples": [(), (1), (1, 2), (1, 2, 3), (1, 2, 3, 4)]`, `"set": {7}`, `"frozen": {8}`,
		`"shared": [[1], [1]]`, `"ordered": {"a": 1, "b": 2}`, `"array": b"z"`, `("a", 1): "tuple key"`, `3: "int key"`, `"self": [[[…]]]`,
	}
	for p := range 6 {
		b, err := os.ReadFile(fmt.Sprintf("testdata/protocol%d.pickle", p))
		if err != nil {
			t.Fatal(err)
		}
		v, rest, err := Read(append(b, "rest"...), nil)
		if err != nil || string(rest) != "rest" {
			t.Errorf("protocol %d: got %q, %v", p, rest, err)
			continue
		}
		got, wanted := show(v, 4), "{"+strings.Join(want, ", ")+"}"
		if got != wanted {
			t.Errorf("protocol %d: got  %s\nwant %s", p, got, wanted)
		}
		shared := v.(*Dict).Get("shared").(*List).Items
		if shared[0] != shared[1] {
			t.Errorf("protocol %d: a list that stands in two places became two", p)
		}
		for n := range b {
			if _, _, err := Read(b[:n], nil); err == nil {
				t.Errorf("protocol %d: the first %d of %d bytes were read without an error", p, n, len(b))
			}
		}
	}
}

// What is no plain value is made by what the options name, or not at all.
func TestGlobals(t *testing.T) {
	o := &Options{
		Global:     Allow{"torch.float32": "f32", "m.C": Class("m.C"), "m.two": Func(func(args Tuple) (any, error) { return int64(2 * len(args)), nil })}.Global,
		Persistent: func(id any) (any, error) { return "object " + show(id, 3), nil },
	}
	for _, c := range []struct{ in, want string }{
		{"cposix\nsystem\n(S'true'\ntR.", `"posix.system"`},
		{"c__builtin__\neval\n.", `"builtins.eval"`},
		{"(S'true'\nios\nsystem\n", `"os.system"`},
		{"\x80\x04\x8c\x02os\x8c\x06system\x93.", `"os.system"`},
		{"ctorch\nfloat32\n.", `"f32"`},
		{"ctorch\nfloat32\n)R.", "it calls a str"},
		{"cm\ntwo\n(K\x01K\x02tR.", "4"},
		{"cm\ntwo\nK\x01R.", "want a tuple"},
		{"cm\nC\nK\x01\x85\x81.", "m.C(1)"},
		{"(cm\nC\nK\x01o.", "m.C(1)"},
		{"(K\x01im\nC\n.", "m.C(1)"},
		{"cm\nC\n)}U\x01kK\x01s\x92.", "m.C()"},
		{"cm\ntwo\n)}U\x01kK\x01s\x92.", "keyword arguments"},
		{"Pid\n.", `"object \"id\""`},
		{"K\x05Q.", `"object 5"`},
		{"c_codecs\nencode\n(V\\u1234\nVlatin1\ntR.", "Latin-1"},
		{"\x82\x01.", "registry"},
		{"\x97.", "buffer"},
	} {
		v, _, err := Read([]byte(c.in), o)
		got := show(v, 4)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("Read(%q) = %s, want %s", c.in, got, c.want)
		}
	}
	var refused *RefusedError
	if _, _, err := Read([]byte("cposix\nsystem\n."), nil); !errors.As(err, &refused) || refused.Name != "system" {
		t.Errorf("got %v, want a RefusedError", err)
	}
	if _, _, err := Read([]byte("Pid\n."), nil); err == nil || !strings.Contains(err.Error(), "its id is a str") {
		t.Errorf("got %v, want the id refused", err)
	}
}

// State and items of objects are kept.
func TestObject(t *testing.T) {
	o := &Options{Global: Allow{"m.C": Class("m.C")}.Global}
	v, _, err := Read([]byte("cm\nC\n)\x81}U\x01aK\x07sbK\x01aU\x01kK\x02s."), o)
	if err != nil {
		t.Fatal(err)
	}
	c := v.(*Object)
	if c.Attr("a") != int64(7) || show(&List{c.Items}, 3) != "[1]" || c.Pairs.Get("k") != int64(2) || c.Attr("b") != nil {
		t.Errorf("got attributes %s, items %v, pairs %s", show(c.State, 3), c.Items, show(c.Pairs, 3))
	}
	v, _, err = Read([]byte("ccollections\nOrderedDict\n)R}U\x09_metadataK\x01sb."), nil)
	if err != nil || show(v.(*Dict).State, 3) != `{"_metadata": 1}` {
		t.Errorf("got %v, %v, want the state of a dict", v, err)
	}
}

// Dicts of few and of many keys find the same.
func TestDict(t *testing.T) {
	var d Dict
	for n := range int64(100) {
		d.Set(n%40, n)
		d.Set(Tuple{n}, n)
		d.Set(math.NaN(), n)
		if v, ok := d.Lookup(n % 40); !ok || v != n {
			t.Fatalf("after %d keys: got %v", d.Len(), v)
		}
	}
	if d.Len() != 40+100+100 || d.Get(int64(40)) != nil || d.Get("a") != nil || d.Get(Tuple{1}) != nil {
		t.Errorf("%d keys, %v", d.Len(), d.Get(int64(40)))
	}
}

// Numbers of kept values may jump, and be used again.
func TestMemo(t *testing.T) {
	var m memo
	want := map[uint64]any{}
	for _, i := range []uint64{0, 1, 5, 1 << 40, 70, 200, 199, 5, 1 << 40, 63, 134, 198, 262, 200} {
		m.set(i, i+uint64(len(want)))
		want[i] = i + uint64(len(want))
		for k := range uint64(300) {
			if got, ok := m.get(k); ok != (want[k] != nil) || ok && got != want[k] {
				t.Fatalf("after %d: %d is %v, want %v", i, k, got, want[k])
			}
		}
	}
	if m.n != uint64(len(want)) {
		t.Errorf("%d values, want %d", m.n, len(want))
	}
}

func TestMaxValues(t *testing.T) {
	b := []byte("(" + strings.Repeat("]", 100) + "t.")
	if _, _, err := Read(b, &Options{MaxValues: 101}); err != nil {
		t.Error(err)
	}
	if _, _, err := Read(b, &Options{MaxValues: 99}); err == nil || !strings.Contains(err.Error(), "over 99 values") {
		t.Errorf("got %v, want it refused", err)
	}
}

// Calls that make copies of one text or list again and again are refused: a file of some kilobytes would
// stand for megabytes.
func TestCopies(t *testing.T) {
	pairs := "]("
	for i := range 1000 {
		pairs += "M" + string([]byte{byte(i), byte(i >> 8)}) + "N\x86"
	}
	for name, c := range map[string]struct{ function, value, call string }{
		"text":  {"c_codecs\nencode\n", "V" + strings.Repeat("x", 4000) + "\n", "g0\n(g1\nVlatin1\ntR"},
		"pairs": {"ccollections\nOrderedDict\n", pairs + "e", "g0\n(g1\ntR"},
	} {
		made := func(copies int) error {
			_, _, err := Read([]byte(c.function+"p0\n0"+c.value+"p1\n0("+strings.Repeat(c.call, copies)+"t."), nil)
			return err
		}
		if err := made(2); err != nil {
			t.Errorf("two copies of %s: got %v", name, err)
		}
		if err := made(300); err == nil || !strings.Contains(err.Error(), "again and again") {
			t.Errorf("300 copies of %s: got %v, want it refused", name, err)
		}
	}
}

// A backslash behind another begins no escape.
func TestEscapes(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`\u0041`, "A"}, {`\\u0041`, `\\u0041`}, {`\\\u0041`, `\\A`}, {`\n`, `\n`}, {`\\`, `\\`}, {`a\`, `a\`},
	} {
		if v, _, err := Read([]byte("V"+c.in+"\n."), nil); err != nil || v != c.want {
			t.Errorf("%s: got %q and %v, want %q", c.in, v, err, c.want)
		}
	}
	if v, _, err := Read([]byte(`S'a\\x41\x41'`+"\n."), nil); err != nil || v != `a\x41A` {
		t.Errorf("got %q and %v, want %q", v, err, `a\x41A`)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "in the middle"},
		{".", "where there is none"},
		{"K\x01(.", "where there is none"},
		{"t.", "since a mark"},
		{"\xff.", "0xff"},
		{"\x80\x06.", "protocol 6"},
		{"h\x05.", "number 5"},
		{"g-1\n.", `got "-1"`},
		{"X\xff\xff\xff\xff.", "in the middle"},
		{"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "in the middle"},
		{"K\x01K\x02a.", "appends to an int"},
		{"K\x01K\x02K\x03s.", "sets keys of an int"},
		{"(K\x01d.", "without a value"},
		{"K\x01}b.", "sets the state of an int"},
		{"I1x\n.", `got "1x"`},
		{"L" + strings.Repeat("9", 5000) + "L\n.", "want an int"},
		{"F1x\n.", "want a float"},
		{"Sx\n.", "in quotes"},
		{"S'\\xg0'\n.", "hex digits"},
		{"V\\U00110000\n.", "hex digits"},
		{"K\x01K\x02\x93.", "want text"},
		{"(o.", "no class"},
		{"K\x01K\x02\x81.", "it calls an int"},
	} {
		_, _, err := Read([]byte(c.in), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Read(%.40q) failed with %v, want %q", c.in, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for p := range 6 {
		b, err := os.ReadFile(fmt.Sprintf("testdata/protocol%d.pickle", p))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	o := &Options{Global: func(module, name string) (any, error) { return Class(module + "." + name), nil }}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, err := Read(b, o)
		if err != nil {
			return
		}
		show(v, 3)
		used := b[:len(b)-len(rest)]
		again, rest, err := Read(used, o)
		if err != nil || len(rest) > 0 || show(again, 3) != show(v, 3) {
			t.Errorf("read again: %v, %d bytes left", err, len(rest))
		}
	})
}
