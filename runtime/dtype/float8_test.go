package dtype

import (
	"hash/crc32"
	"math"
	"testing"
)

// Every number of 8 bits survives widening and rounding; NaNs stay NaNs.
func TestFloat8RoundTrip(t *testing.T) {
	for i := range 1 << 8 {
		if f := F8E4M3(i).Float32(); f == f {
			if got := ToF8E4M3(f); got != F8E4M3(i) {
				t.Errorf("ToF8E4M3(%#02x.Float32()) = %#02x", i, got)
			}
		} else if g := ToF8E4M3(f).Float32(); g == g {
			t.Errorf("ToF8E4M3(NaN %#02x) = %v, want a NaN", i, g)
		}
		if f := F8E5M2(i).Float32(); f == f {
			if got := ToF8E5M2(f); got != F8E5M2(i) {
				t.Errorf("ToF8E5M2(%#02x.Float32()) = %#02x", i, got)
			}
		} else if g := ToF8E5M2(f).Float32(); g == g {
			t.Errorf("ToF8E5M2(NaN %#02x) = %v, want a NaN", i, g)
		}
	}
}

// Of every 9973rd float32 the bytes are those that PyTorch 2.15 stores: the sums are of
//
//	torch.arange(0, 2**32, 9973).to(torch.int32).view(torch.float32).to(d).view(torch.uint8)
func TestFloat8Rounding(t *testing.T) {
	var e4m3, e5m2 []byte
	for b := uint64(0); b < 1<<32; b += 9973 {
		f := math.Float32frombits(uint32(b))
		e4m3, e5m2 = append(e4m3, byte(ToF8E4M3(f))), append(e5m2, byte(ToF8E5M2(f)))
	}
	if got := crc32.ChecksumIEEE(e4m3); got != 872709937 {
		t.Errorf("float8_e4m3fn: the bytes sum to %d", got)
	}
	if got := crc32.ChecksumIEEE(e5m2); got != 2364885393 {
		t.Errorf("float8_e5m2: the bytes sum to %d", got)
	}
}
