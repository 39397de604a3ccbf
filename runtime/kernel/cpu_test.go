package kernel

import "testing"

func TestChoose(t *testing.T) {
	for name, want := range map[string]Set{"auto": Best(), "portable": Portable} {
		if got, err := Choose(name); got != want || err != nil {
			t.Errorf("Choose(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	for s := Portable; s <= AVX512; s++ {
		got, err := Choose(s.String())
		if s <= Best() && (got != s || err != nil) {
			t.Errorf("Choose(%q) = %v, %v, want it", s, got, err)
		}
		if s > Best() && err == nil {
			t.Errorf("Choose(%q) gives what this machine has not got", s)
		}
	}
	if _, err := Choose("mmx"); err == nil || err.Error() != `instruction set "mmx": want auto, portable, avx2 or avx512` {
		t.Errorf(`Choose("mmx") = %v`, err)
	}
}
