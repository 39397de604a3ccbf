package vec

import (
	"math"
	"reflect"
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
	if !storesPast() {
		t.Skip("this machine stores nothing past the caches")
	}
	was, light := pastFrom, lightPastFrom
	setPast(bytes)
	return func() { pastFrom, lightPastFrom = was, light }
}

// eachPast runs f in each set of this machine that stores past the caches.
func eachPast(t *testing.T, f func(t *testing.T)) {
	defer Use(best)
	for _, s := range Sets() {
		if Use(s); storesPast() {
			t.Run(s.String(), f)
		}
	}
}

// setPast has all results of so many bytes or more be stored past the caches.
func setPast(bytes int) { pastFrom, lightPastFrom = bytes, bytes }

// Where cpuid tells of a second-level cache, it is of a size that there is.
func TestCaches(t *testing.T) {
	intel, amd := SecondLevel(), secondLevelAMD()
	for _, n := range []int{intel, amd} {
		if n != 0 && (n < 128<<10 || n > 64<<20) {
			t.Errorf("a second-level cache of %d bytes", n)
		}
	}
	if intel > 0 && amd > 0 {
		t.Errorf("a second-level cache of Intel's of %d bytes, and one of AMD's of %d", intel, amd)
	} else if amd > 0 && lightPastBytes() != amd/2 || amd == 0 && lightPastBytes() != pastBytes() {
		t.Errorf("lightPastBytes() = %d with a second-level cache of AMD's of %d bytes", lightPastBytes(), amd)
	}
}

// What is stored past the caches is what else is stored: of all lengths, where dst
// begins with a line and where not, and where it is an input.
func TestPast(t *testing.T) { eachPast(t, testPast) }

func testPast(t *testing.T) {
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
func TestPastAll(t *testing.T) { eachPast(t, testPastAll) }

func testPastAll(t *testing.T) {
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
func TestCopyPast(t *testing.T) { eachPast(t, testCopyPast) }

func testCopyPast(t *testing.T) {
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

// Results are stored past the caches from a size on that no near cache holds, in sets that can.
func TestPastFrom(t *testing.T) {
	if near := SecondLevel(); near > 0 && pastBytes() != 2*near || near == 0 && pastBytes() != math.MaxInt {
		t.Errorf("pastBytes() = %d with a second-level cache of %d bytes", pastBytes(), near)
	}
	defer withPast(t, 1000)()
	for _, past := range []func(int) bool{Past, LightPast} {
		if past(999) || !past(1000) {
			t.Errorf("past(999) = %v, past(1000) = %v, want false and true", past(999), past(1000))
		}
	}
	defer func(s Set) { active = s }(active)
	if active = Portable; Past(1<<40) || LightPast(1<<40) {
		t.Error("the portable set stores past the caches")
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
