package vec

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// lineOf returns n elements that begin with a line of the caches.
func lineOf(n int) []float32 {
	x := make([]float32, n+16)
	skip := 0
	for uintptr(unsafe.Pointer(&x[skip]))%64 != 0 {
		skip++
	}
	return x[skip:][:n]
}

// withPast has results of so many bytes or more be stored past the caches until the
// function it returns is called.
func withPast(t *testing.T, bytes int) (end func()) {
	if best != AVX512 {
		t.Skip("results are stored past the caches in AVX-512 alone")
	}
	was, light := pastFrom, lightPastFrom
	setPast(bytes)
	return func() { pastFrom, lightPastFrom = was, light }
}

// setPast has all results of so many bytes or more be stored past the caches.
func setPast(bytes int) { pastFrom, lightPastFrom = bytes, bytes }

// Where cpuid tells of a second- or third-level cache, it is of a size that there is.
func TestCaches(t *testing.T) {
	for name, n := range map[string]int{"SecondLevel": SecondLevel(), "thirdLevel": thirdLevel()} {
		if n != 0 && (n < 128<<10 || n > 4<<30) {
			t.Errorf("%s() = %d bytes", name, n)
		}
	}
	if second, third := SecondLevel(), thirdLevel(); second > 0 && third > 0 {
		t.Errorf("SecondLevel() = %d and thirdLevel() = %d: of one maker's processors each", second, third)
	} else if third > 0 && lightPastBytes() != third/2 || third == 0 && lightPastBytes() != pastBytes() {
		t.Errorf("lightPastBytes() = %d with a third-level cache of %d bytes", lightPastBytes(), third)
	}
}

// What is stored past the caches is what else is stored: of all lengths, where dst
// begins with a line and where not, and where it is an input.
func TestPast(t *testing.T) {
	defer withPast(t, 1)()
	unary := map[string]func(dst, x []float32){"Gelu": Gelu, "Exp": Exp, "Sqrt": Sqrt, "Tanh": Tanh, "Neg": Neg,
		"Scale": func(dst, x []float32) { Scale(dst, x, 0.3) }, "Add": func(dst, x []float32) { Add(dst, x, x[:len(x)]) }}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"Gelu", "Exp", "Sqrt", "Tanh", "Neg", "Scale", "Add"}).Draw(t, "kernel")
		n := rapid.IntRange(1, 3*chunk).Draw(t, "n")
		off := rapid.IntRange(0, 2).Draw(t, "off")
		x, dst := lineOf(n + off)[off:], lineOf(n + off)[off:]
		for i := range x {
			x[i] = float32(i%97)/16 - 3
		}
		f := unary[name]
		if got, want := fitsPast(&dst[0], &x[0]), off == 0; got != want {
			t.Fatalf("fitsPast of a slice %d elements behind a line = %v, want %v", off, got, want)
		}
		f(dst, x)
		setPast(math.MaxInt)
		want := make([]float32, n)
		f(want, x)
		setPast(1)
		if at := firstOther(dst, want); at >= 0 {
			t.Fatalf("%s of %d elements: element %d is %v past the caches, want %v", name, n, at, dst[at], want[at])
		}
		f(x, x)
		if at := firstOther(x, want); at >= 0 {
			t.Fatalf("%s of %d elements in place: element %d is %v, want %v", name, n, at, x[at], want[at])
		}
	})
}

// All kernels of the table give the same bits past the caches.
func TestPastAll(t *testing.T) {
	defer withPast(t, math.MaxInt)()
	for name, f := range all {
		v := reflect.ValueOf(f)
		rapid.Check(t, func(t *rapid.T) {
			args := operands(t, v.Type(), 16*rapid.IntRange(20, 40).Draw(t, "groups")+5, 0)
			other := clone(args)
			v.Call(args)
			setPast(1)
			v.Call(other)
			setPast(math.MaxInt)
			if d := differ(other, args); d != "" {
				t.Fatalf("%s past the caches: %s", name, d)
			}
		})
	}
}

// A copy past the caches is a copy, of all lengths, and touches nothing else.
func TestCopyPast(t *testing.T) {
	defer withPast(t, 1)()
	rapid.Check(t, func(t *rapid.T) {
		n, off := rapid.IntRange(0, 200).Draw(t, "n"), rapid.IntRange(0, 17).Draw(t, "off")
		x, room := make([]float32, n), lineOf(n+off+20)
		for i := range x {
			x[i] = float32(i + 1)
		}
		CopyPast(room[off:off+n], x)
		Settle()
		for i, v := range room {
			want := float32(0)
			if i >= off && i < off+n {
				want = float32(i - off + 1)
			}
			if v != want {
				t.Fatalf("a copy of %d elements to %d: element %d is %v, want %v", n, off, i, v, want)
			}
		}
	})
}

// Results are stored past the caches from a size on that no near cache holds, and in
// AVX-512 alone.
func TestPastFrom(t *testing.T) {
	if near := SecondLevel(); near > 0 && pastBytes() != 2*near || near == 0 && pastBytes() != math.MaxInt {
		t.Errorf("pastBytes() = %d with a second-level cache of %d bytes", pastBytes(), near)
	}
	defer withPast(t, 1000)()
	if Past(999) || !Past(1000) {
		t.Errorf("Past(999) = %v, Past(1000) = %v, want false and true", Past(999), Past(1000))
	}
	defer func(s Set) { active = s }(active)
	for _, s := range slices.DeleteFunc(Sets(), func(s Set) bool { return s.vectors() == AVX512 }) {
		if active = s; Past(1 << 40) {
			t.Errorf("with %v, Past(1<<40) = true, want false", s)
		}
	}
}

// firstOther returns the first element whose bits differ, or -1.
func firstOther(x, y []float32) int {
	for i, v := range x {
		if math.Float32bits(v) != math.Float32bits(y[i]) {
			return i
		}
	}
	return -1
}
