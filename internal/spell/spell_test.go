package spell

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"all_reduce", "all_gather", "reshape", "sum"}
	tests := []struct{ x, want string }{
		{"all_redcue", "all_reduce"},
		{"AllReduce", "all_reduce"},
		{"shape", "reshape"},
		{"sun", "sum"},
		{"usm", "sum"}, // two neighbours swapped are one mistake
		{"x", ""},
		{"", ""},
		{"entirely", ""},
	}
	for _, test := range tests {
		if got := Nearest(test.x, names); got != test.want {
			t.Errorf("Nearest(%q): got %q, want %q", test.x, got, test.want)
		}
	}
}

func TestBegun(t *testing.T) {
	names := []string{"hgx-h100", "dgx-a100-80g", "dgx-a100-40g"}
	for _, test := range []struct{ x, want string }{
		{"dgx-a100", "dgx-a100-40g"},
		{"DGX", "dgx-a100-40g"},
		{"hgx-h10", "hgx-h100"},
		{"hgx-h200", "hgx-h100"},
		{"tpu", ""},
	} {
		if got := Begun(test.x, names); got != test.want {
			t.Errorf("Begun(%q): got %q, want %q", test.x, got, test.want)
		}
	}
}
