package kernel

import (
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	for name, want := range map[string]Set{"auto": Best(), "portable": Portable} {
		if got, err := Choose(name); got != want || err != nil {
			t.Errorf("Choose(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	for _, s := range Known() {
		got, err := Choose(s.String())
		has := slices.Contains(Sets(), s)
		if has && (got != s || err != nil) {
			t.Errorf("Choose(%q) = %v, %v, want it", s, got, err)
		}
		if !has && err == nil {
			t.Errorf("Choose(%q) gives what this machine has not got", s)
		}
	}
	if _, err := Choose("mmx"); err == nil || err.Error() != `instruction set "mmx": want auto, portable, avx2, avx512, amx or neon` {
		t.Errorf(`Choose("mmx") = %v`, err)
	}
}
