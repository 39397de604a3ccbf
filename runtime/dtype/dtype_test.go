package dtype

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestPromote(t *testing.T) {
	// torch.result_type of two tensors with dims.
	for _, c := range []struct{ a, b, want DType }{
		{Float32, Float64, Float64},
		{Float16, BFloat16, Float32},
		{Float16, Float32, Float32},
		{Int64, Float16, Float16},
		{Int32, Int64, Int64},
		{Uint8, Int32, Int32},
		{Bool, Uint8, Uint8},
		{Bool, Bool, Bool},
		{Bool, BFloat16, BFloat16},
	} {
		if got := Promote(c.a, c.b); got != c.want {
			t.Errorf("Promote(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
		if got := Promote(c.b, c.a); got != c.want {
			t.Errorf("Promote(%v, %v) = %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, d := range All {
		if got, err := Parse(d.String()); err != nil || got != d {
			t.Errorf("Parse(%q) = %v, %v, want %v", d.String(), got, err, d)
		}
	}
	if _, err := Parse("float8"); err == nil {
		t.Error(`Parse("float8") succeeded`)
	}
}

// Every F16 survives widening and rounding; NaNs stay NaNs.
func TestF16RoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		h := F16(i)
		f := h.Float32()
		got := ToF16(f)
		if f != f {
			if g := got.Float32(); g == g {
				t.Fatalf("ToF16(NaN %#04x) = %#04x, want a NaN", i, got)
			}
		} else if got != h {
			t.Fatalf("ToF16(%#04x.Float32()) = %#04x", i, got)
		}
	}
}

// Rounding picks the nearer neighbour, and the even one half-way.
func TestF16Rounding(t *testing.T) {
	for i := range 0x7bff { // positive and finite, with a finite successor
		lo, hi := F16(i).Float32(), F16(i+1).Float32()
		mid := lo + (hi-lo)/2
		even := F16(i + i&1)
		for _, c := range []struct {
			f    float32
			want F16
		}{
			{mid, even},
			{math.Nextafter32(mid, 0), F16(i)},
			{math.Nextafter32(mid, 1e9), F16(i + 1)},
			{-mid, even | 0x8000},
		} {
			if got := ToF16(c.f); got != c.want {
				t.Fatalf("ToF16(%g) = %#04x, want %#04x", c.f, got, c.want)
			}
		}
	}
	for f, want := range map[float32]F16{65504: 0x7bff, 65519.996: 0x7bff, 65520: 0x7c00, 1e30: 0x7c00, 0x1p-25: 0, 0x1.000002p-25: 1} {
		if got := ToF16(f); got != want {
			t.Errorf("ToF16(%g) = %#04x, want %#04x", f, got, want)
		}
	}
}

func TestBF16RoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		h := BF16(i)
		f := h.Float32()
		got := ToBF16(f)
		if f != f {
			if g := got.Float32(); g == g {
				t.Fatalf("ToBF16(NaN %#04x) = %#04x, want a NaN", i, got)
			}
		} else if got != h {
			t.Fatalf("ToBF16(%#04x.Float32()) = %#04x", i, got)
		}
	}
}

// A rounded float32 is one of its two neighbours, whichever is nearer.
func TestBF16Rounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
		if f != f || math.Abs(float64(f)) > 3e38 {
			return
		}
		got := float64(ToBF16(f).Float32())
		down := float64(math.Float32frombits(math.Float32bits(f) &^ 0xffff))
		up := float64(math.Float32frombits(math.Float32bits(f)&^0xffff + 0x10000))
		if best := math.Min(math.Abs(down-float64(f)), math.Abs(up-float64(f))); math.Abs(got-float64(f)) != best {
			t.Fatalf("ToBF16(%g) = %g, want the nearer of %g and %g", f, got, down, up)
		}
	})
}
