package tensorfiles

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tpsh/builtins/dcp"
	"tpsh/builtins/torchfile"
	"tpsh/runtime/ckpt"
)

// folder writes files into a new folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// metadata returns a .metadata of one chunk of a float32 [2] in a file.
func metadata(t testing.TB, m *dcp.Metadata) string {
	t.Helper()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// entry returns an entry of zeros.
func entry(t testing.TB, d torchfile.DType, shape []int, n int) string {
	t.Helper()
	var buf bytes.Buffer
	w, err := torchfile.NewWriter(&buf, d, shape)
	if err == nil {
		_, err = w.Write(make([]byte, n))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// Files that lie get an error that says so, and nothing outside their folder is read.
func TestHostile(t *testing.T) {
	good := entry(t, "float32", []int{2}, 8)
	one := func(c dcp.Chunk, shape ...int) map[string]string {
		m := &dcp.Metadata{Tensors: []dcp.Tensor{{Name: "w", DType: "float32", Shape: shape, Chunks: []dcp.Chunk{c}}}}
		return map[string]string{dcp.Name: metadata(t, m), "__0_0.distcp": good}
	}
	place := dcp.Place{File: "__0_0.distcp", Length: int64(len(good))}
	chunk := func(p dcp.Place, at, n int) dcp.Chunk {
		return dcp.Chunk{Offsets: []int{at}, Sizes: []int{n}, Place: p}
	}
	tests := []struct {
		files map[string]string
		want  string
	}{
		{nil, "and so no checkpoint"},
		{map[string]string{dcp.Name: ""}, "it ends in the middle of a pickle"},
		{map[string]string{dcp.Name: "cos\nsystem\n(S'touch x'\ntR."}, `it wants "os.system"`},
		{one(chunk(dcp.Place{File: "../../x", Length: 9}, 0, 2), 2), "want the name of a file in the folder"},
		{one(chunk(dcp.Place{File: "/etc/passwd", Length: 9}, 0, 2), 2), "want the name of a file in the folder"},
		{one(chunk(dcp.Place{File: "gone.distcp", Length: 9}, 0, 2), 2), "the file is missing"},
		{one(chunk(dcp.Place{File: place.File, Length: 1 << 50}, 0, 2), 2), "ends at byte"},
		{one(chunk(dcp.Place{File: place.File, Offset: 1 << 62, Length: 9}, 0, 2), 2), "ends at byte"},
		{one(chunk(place, 0, 2), 3), "overlap or leave a gap"},
		{one(chunk(place, 1, 2), 2), "outside of its shape"},
		{one(chunk(place, 0, 1<<59), 1<<59), "a size of"},
		{one(chunk(place, 0, 1<<50), 1<<50), "is not float32"},
		{one(chunk(place, 0, 3), 3), "is not float32[3]"},
		{map[string]string{"a.pt": "PK\x03\x04 and no more"}, "a damaged zip archive"},
		{map[string]string{"a.pt": "hello, world"}, "torch.save has not written it"},
		{map[string]string{"a.pt": ""}, "a file of 0 bytes"},
		{map[string]string{"a.pt": good[:len(good)-30]}, "a damaged zip archive"},
		{map[string]string{"a.safetensors": "xx"}, "a file of 2 bytes"},
		{map[string]string{"m.safetensors.index.json": `{"weight_map": {"w": "../x.safetensors"}}`}, `"../x.safetensors", want the name of a .safetensors file`},
		{map[string]string{"m.safetensors.index.json": `{"weight_map": {"w": "x.safetensors"}}`}, "the file is missing"},
		{map[string]string{"m.safetensors.index.json": `{}`}, "it has no weight_map"},
		{map[string]string{"m.safetensors.index.json": `[`}, "no index"},
		{map[string]string{"index.json": `{}`}, "a file of another format"},
	}
	for _, test := range tests {
		s, err := Open(folder(t, test.files))
		if err == nil {
			wrong := s.Verify(1000, nil)
			s.Close()
			if len(wrong) > 0 {
				err = wrong[0]
			}
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60q: got %v, want %s", test.files, err, test.want)
		}
	}
}

// A flipped byte of a storage is found by its checksum.
func TestVerifyFlipped(t *testing.T) {
	good := []byte(entry(t, "float32", []int{8}, 32))
	i := bytes.Index(good, make([]byte, 32))
	good[i+7] ^= 1
	s := open(t, filepath.Join(folder(t, map[string]string{"a.pt": string(good)}), "a.pt"))
	if wrong := s.Verify(1000, nil); len(wrong) != 1 || !strings.Contains(wrong[0].Error(), "does not have its checksum") {
		t.Errorf("got %v", wrong)
	}
}

// So is one of a value that is no tensor: the number 7 has become 9.
func TestVerifyFlippedValue(t *testing.T) {
	s := open(t, "testdata/damaged")
	if wrong := s.Verify(1000, nil); len(wrong) != 1 || !strings.Contains(wrong[0].Error(), `the value "step": archive/data.pkl: zip: checksum error`) {
		t.Errorf("got %v", wrong)
	}
}

// Whatever a folder of torch.distributed.checkpoint has in its files, opening, checking
// and reading it ends without a crash.
func FuzzDCP(f *testing.F) {
	meta, err := os.ReadFile("testdata/dtypes/.metadata")
	if err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile("testdata/dtypes/__0_0.distcp")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(meta, data)
	f.Fuzz(func(t *testing.T, meta, data []byte) {
		fuzz(t, map[string]string{dcp.Name: string(meta), "__0_0.distcp": string(data)})
	})
}

// Nor whatever a file of torch.save has.
func FuzzTorch(f *testing.F) {
	for _, name := range []string{"dtypes.pt", "dcp.pt", "legacy.pt", "signs.pt"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, map[string]string{"a.pt": string(data)}) })
}

// fuzz reads all of a folder.
func fuzz(t *testing.T, files map[string]string) {
	s, err := Open(folder(t, files))
	if err != nil {
		return
	}
	defer s.Close()
	s.Verify(1<<12, nil)
	for _, x := range s.Tensors {
		if x.Bytes() > 1<<24 {
			continue
		}
		_ = s.Read(make([]byte, x.Bytes()), x, ckpt.Whole(x.Shape))
	}
	s.State()
}
