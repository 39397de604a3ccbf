package blas

import (
	"slices"
	"strings"
	"testing"
)

func TestDialectOf(t *testing.T) {
	whole := []string{"openblas_get_config", "openblas_set_num_threads", "isamax_", "sgemm_", "dgemm_"}
	spelled := func(d dialect) []string {
		var names []string
		for _, name := range whole {
			names = append(names, d.name(name))
		}
		return names
	}
	for _, c := range []struct {
		what    string
		symbols []string
		want    dialect
		err     string // what the error contains; "" for none
	}{
		{"plain", whole, dialect{}, ""},
		{"of SciPy", spelled(dialect{"scipy_", ""}), dialect{"scipy_", ""}, ""},
		{"64 bits by its suffix", spelled(dialect{"", "64_"}), dialect{}, "its integers have 64 bits (it has sgemm_64_)"},
		{"of NumPy, 64 bits", spelled(dialect{"scipy_", "64_"}), dialect{}, "its integers have 64 bits (it has scipy_sgemm_64_)"},
		{"another BLAS", []string{"isamax_", "sgemm_", "dgemm_"}, dialect{}, "it is no OpenBLAS"},
		{"nothing", nil, dialect{}, "it is no OpenBLAS"},
		{"half of one", whole[:3], dialect{}, "it lacks sgemm_"},
	} {
		got, err := dialectOf(func(name string) bool { return slices.Contains(c.symbols, name) })
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s: got %v, %v, want %v", c.what, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: got error %v, want %q", c.what, err, c.err)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		config, version string
		ok              bool
	}{
		{"OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64", "0.3.21", true},
		{"OpenBLAS 0.3.21  USE64BITINT NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64", "0.3.21", false},
		{"OpenBLAS 0.3.31.188.0  USE64BITINT DYNAMIC_ARCH", "0.3.31.188.0", false},
		{"", "unknown", true},
	} {
		if err := checkConfig(c.config); (err == nil) != c.ok {
			t.Errorf("checkConfig(%q) = %v, want ok %v", c.config, err, c.ok)
		}
		if got := versionOf(c.config); got != c.version {
			t.Errorf("versionOf(%q) = %q, want %q", c.config, got, c.version)
		}
	}
}

func TestFileAt(t *testing.T) {
	const maps = "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/dbus-daemon\n" +
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n" +
		"7f1000000000-7f1000001000 r-xp 00000000 08:02 99 /opt/a folder/libopenblas.so.0\n"
	for _, c := range []struct {
		p    uintptr
		want string
	}{
		{0x400000, "/usr/bin/dbus-daemon"},
		{0x452000, ""},
		{0x7f0000000000, ""},
		{0x7f1000000fff, "/opt/a folder/libopenblas.so.0"},
	} {
		if got := fileAt(maps, c.p); got != c.want {
			t.Errorf("fileAt(%#x) = %q, want %q", c.p, got, c.want)
		}
	}
}

// A name that is no library is an error that says so, in every build.
func TestFindOfNoLibrary(t *testing.T) {
	want := "TPSH_BLAS: /nowhere/libopenblas.so"
	if !Built {
		want = "-tags native"
	}
	_, err := Find(func(name string) (string, bool) { return "/nowhere/libopenblas.so", name == Variable })
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Find = %v, want an error that holds %q", err, want)
	}
}
