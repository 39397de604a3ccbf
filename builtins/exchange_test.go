package builtins_test

import (
	"archive/zip"
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"tpsh/builtins/builtinstest"
)

var exchange = flag.String("exchange", "", "the folder that TestExchange writes to")

// The tensors of testdata/fixtures, saved as they were there. What they are is
// said in make_fixtures.py.
const exchanged = `
tensors = {str(t): arange(6).reshape(2, 3).to(t) for t in [float32, float64, float16, bfloat16, int64, int32, uint8, bool]}
tensors["empty"] = zeros(0, 4)
tensors["number \"é\"\n"] = tensor(-2.5, dtype=float64)
save_safetensors("all.safetensors", tensors, metadata={"format": "np\t\u2028/"})
save_npz("stored.npz", {k: v for k, v in tensors.items() if k != "bfloat16"})
save_npy("rows.npy", tensors["float32"])
save_checkpoint("checkpoint", tensors)
`

// From the same values tpsh writes the same bytes as the Python packages: the
// whole of .npy and safetensors files, and of .npz files the members, whose
// headers it leaves shorter.
func TestExchange(t *testing.T) {
	dir := *exchange
	if dir == "" {
		dir = t.TempDir()
	}
	s := builtinstest.Script{Name: "exchange.star", Source: exchanged, Dir: dir}
	builtinstest.Check(t, s.Run(t, "inproc", 1))
	for _, name := range []string{"all.safetensors", "rows.npy"} {
		if got, want := read(t, dir, name), read(t, "testdata/fixtures", name); !bytes.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
		}
	}
	got, want := members(t, dir, "stored.npz"), members(t, "testdata/fixtures", "stored.npz")
	if len(got) != len(want) {
		t.Errorf("got %d members, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("member %d:\ngot  %s\nwant %s", i, got[i], want[i])
		}
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// members returns the names, dates and contents of the members of a zip file.
func members(t *testing.T, dir, name string) []string {
	t.Helper()
	data := read(t, dir, name)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f.Name+" "+f.Modified.String()+" "+strconv.Quote(string(text)))
	}
	return list
}
