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
