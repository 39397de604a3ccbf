package lsp

import "testing"

// A program is planned on as many ranks as it says, or as its largest mesh has.
func TestRanksOf(t *testing.T) {
	for _, c := range []struct {
		body string
		want int
	}{
		{"print(1)", 2},
		{"\"\"\"tpsh run -n 3 a.star\"\"\"\nm = init_device_mesh(\"cpu\", (2, 2))", 3},
		{"m = init_device_mesh(\"cpu\", (2, 2), mesh_dim_names=(\"dp\", \"tp\"))", 4},
		{"a = init_device_mesh('cpu', [3])\nb = init_device_mesh(\"cpu\",\n    (2, 2,\n     2))", 8},
		{"m = init_device_mesh(\"cpu\", (1,))", 1},
		{"m = init_device_mesh(\"cpu\", (world_size(),))", 2},
		{"m = init_device_mesh(\"cpu\", (8, 16))", 2}, // more than is planned in the background
		{"m = init_device_mesh(\"cpu\", (99999999999999999999, 4))", 2},
		{"m = init_device_mesh(\"cpu\", (64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64))", 2},
	} {
		if got := ranksOf(c.body); got != c.want {
			t.Errorf("%s\n%d ranks, want %d", c.body, got, c.want)
		}
	}
}
