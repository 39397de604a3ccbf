package units

import "testing"

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{-1: "-", 0: "0 B", 10<<10 - 1: "10239 B", 10 << 10: "10.0 KiB", 20 << 20: "20.0 MiB", 3 << 40: "3072.0 GiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0", 1.5e-6: "1.5 µs", 0.0125: "12.5 ms", 75: "75.000 s"} {
		if got := Seconds(s); got != want {
			t.Errorf("Seconds(%g) = %q, want %q", s, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files", -1: "-1 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
