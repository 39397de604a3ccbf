package tensorfiles

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/builtins/safetensors"
	"tpsh/runtime/ckpt"
)

// What PyTorch has saved is read, in each format, and copied into each.
func TestSamples(t *testing.T) {
	for _, name := range []string{"dcp", "dtypes"} {
		a, b := open(t, "testdata/"+name), open(t, "testdata/"+name+".pt")
		sameSets(t, a, b)
		copies(t, a)
		for _, s := range []*Set{a, b} {
			if wrong := s.Verify(1000, nil); len(wrong) > 0 {
				t.Error(wrong)
			}
		}
	}
	s := open(t, "testdata/legacy.pt")
	if got, want := fmt.Sprint(s.Tensors), "[bfloat16[2, 3] float32[2]]"; got != want && got != "[float32[2] bfloat16[2, 3]]" {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := elements(t, s, s.Tensor("n")); !bytes.Equal(got, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f}) {
		t.Errorf("got %v", got)
	}
}

// random writes a safetensors file of tensors of random elements and opens it.
func random(t testing.TB, shapes map[string][]int) *Set {
	t.Helper()
	var list []*safetensors.Tensor
	for name, shape := range shapes {
		list = append(list, &safetensors.Tensor{Name: name, DType: []safetensors.DType{safetensors.F32, safetensors.BF16, safetensors.U8, safetensors.I64}[len(shape)%4], Shape: shape})
	}
	data, err := safetensors.AppendHeader(nil, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range list[len(list)-1].End {
		data = append(data, byte(r.Uint32()))
	}
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x.safetensors")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A set copied from format to format, each time cut in another way, keeps its hashes.
func TestCopyChains(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 4).Draw(rt, "shape")
		s := random(t, map[string][]int{"w": w, "b": {5}, "model.x.weight": {3, 4}})
		want := ""
		for range rapid.IntRange(1, 4).Draw(rt, "copies") {
			o := &Options{Format: rapid.SampledFrom([]string{Own, DCP, Safetensors}).Draw(rt, "format"), MaxMem: 1 << 24}
			texts := []string{"", "n=3:b=S(0)"}
			if o.Format != Safetensors {
				texts = append(texts, fmt.Sprintf("n=%d:*=flat", rapid.IntRange(1, 5).Draw(rt, "n")))
			}
			for d := range w {
				texts = append(texts, fmt.Sprintf("n=3:w=S(%d)", d), fmt.Sprintf("a=2,b=3:w=S(%d),S(-1);*weight=S(0),S(1)", d))
			}
			if text := rapid.SampledFrom(texts).Draw(rt, "layout"); text != "" {
				o.Target, _ = ckpt.ParseTarget(text)
			}
			n++
			dst := filepath.Join(root, fmt.Sprint(n))
			proof, err := Copy(s, dst, o)
			if err != nil {
				rt.Fatal(err)
			}
			got := fmt.Sprint(proof.Tensors)
			if want == "" {
				want = got
			}
			if got != want {
				rt.Fatalf("got %s, want %s", got, want)
			}
			if s, err = Open(dst); err != nil {
				rt.Fatal(err)
			}
			defer s.Close()
		}
	})
}

// Diff finds the element, the dtype, the name and the value that differ.
func TestDiff(t *testing.T) {
	a := open(t, "testdata/dcp")
	dst := filepath.Join(t.TempDir(), "own")
	o := &Options{Format: Own, MaxMem: 1 << 24}
	if _, err := Copy(a, dst, o); err != nil {
		t.Fatal(err)
	}
	b := open(t, dst)
	none := func(int64) {}
	if list, err := Diff(a, b, 1<<20, none); err != nil || len(list) > 0 {
		t.Errorf("got %v, %v, want nothing", list, err)
	}
	list, err := Diff(a, open(t, "testdata/dtypes.pt"), 1<<20, none)
	if err != nil || len(list) < 30 || !strings.Contains(list[0].Says, "in the first alone") {
		t.Errorf("got %v, %v", list, err)
	}
	x, y := random(t, map[string][]int{"w": {4, 5}}), random(t, map[string][]int{"w": {4, 5}})
	path := filepath.Join(string(y.src.(*pieces).dir.(plain)), "x.safetensors")
	data, _ := os.ReadFile(path)
	data[len(data)-3] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	list, err = Diff(x, y, 1<<20, none)
	if want := "[{w 1 of 20 elements of uint8[4, 5] differ, the first at [3 2]}]"; err != nil || fmt.Sprint(list) != want {
		t.Errorf("got %v, %v, want %s", list, err, want)
	}
}

// Too little memory, a folder that has something else and a dtype that a format does
// not have are errors before anything is written.
func TestCopyErrors(t *testing.T) {
	s := random(t, map[string][]int{"w": {4, 5}})
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mixed := t.TempDir()
	if _, err := Copy(s, mixed, &Options{Format: DCP, MaxMem: 1 << 24}); err != nil {
		t.Fatal(err)
	}
	odd := random(t, map[string][]int{"w": {4, 5}})
	odd.Tensors[0].DType = "float8_e8m0fnu"
	four, _ := ckpt.ParseTarget("n=4:*=S(0)")
	flat, _ := ckpt.ParseTarget("n=3:*=flat")
	slip, _ := ckpt.ParseTarget("n=3:*.weight=S(0)")
	for _, test := range []struct {
		s    *Set
		dst  string
		o    *Options
		want string
	}{
		{s, full, &Options{Format: DCP, MaxMem: 1 << 24}, "is not empty: it has x; want a new one"},
		{open(t, mixed), mixed, &Options{Format: Own, MaxMem: 1 << 24}, "has .metadata, of a checkpoint of another format; want a new one"},
		{s, t.TempDir(), &Options{Format: Own, Target: slip, MaxMem: 1 << 24}, `the rule "*.weight=S(0)" matches none of the 1 tensors: w`},
		{s, t.TempDir(), &Options{Format: Own, Target: four, MaxMem: 1000}, "got 1000 bytes of memory, want at least"},
		{s, t.TempDir(), &Options{Format: "x", MaxMem: 1 << 24}, `got the format "x", want tpsh`},
		{s, t.TempDir(), &Options{Format: Safetensors, Target: flat, MaxMem: 1 << 24}, `tensor "w" has several blocks on rank`},
		{odd, t.TempDir(), &Options{Format: Own, MaxMem: 1 << 24}, "which the format tpsh does not have"},
	} {
		_, err := Copy(test.s, test.dst, test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
		if list, _ := os.ReadDir(test.dst); len(list) > 0 && test.dst != full && test.dst != mixed {
			t.Errorf("%v in the target, want nothing", list)
		}
	}
}

// A damaged source is found, and leaves nothing in the target, and no target that was not there.
func TestCopyDamaged(t *testing.T) {
	s := random(t, map[string][]int{"w": {200_000}})
	src := t.TempDir()
	if _, err := Copy(s, src, &Options{Format: Own, MaxMem: 1 << 24}); err != nil {
		t.Fatal(err)
	}
	const name = "00000001-00000.safetensors"
	data, err := os.ReadFile(filepath.Join(src, name))
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-100] ^= 4
	if err := os.WriteFile(filepath.Join(src, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{Own, DCP, Safetensors} {
		dst := t.TempDir()
		_, err = Copy(open(t, src), dst, &Options{Format: format, MaxMem: 1 << 24})
		if err == nil || !strings.Contains(err.Error(), "do not have their checksum: the file is damaged") {
			t.Errorf("got %v", err)
		}
		if list, err := os.ReadDir(dst); err != nil || len(list) > 0 {
			t.Errorf("%v, %v in the target, want nothing", list, err)
		}
		created := filepath.Join(dst, "new")
		if _, err = Copy(open(t, src), created, &Options{Format: format, MaxMem: 1 << 24}); err == nil {
			t.Error("a damaged source is copied to a new folder")
		}
		if _, err := os.Stat(created); err == nil {
			t.Error("a folder that was made is left")
		}
	}
}

// So is a damaged value that is no tensor: it is not left out as one that a format has no place for.
func TestCopyDamagedValue(t *testing.T) {
	for _, format := range []string{Own, DCP, Safetensors} {
		_, err := Copy(open(t, "testdata/damaged"), t.TempDir(), &Options{Format: format, MaxMem: 1 << 24})
		if err == nil || !strings.Contains(err.Error(), `.distcp: the value "step": archive/data.pkl: zip: checksum error`) {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

// Views that conjugate or negate, which torch.save writes as their base and a word, are
// read as what they show: PyTorch 2.15 wrote each beside a copy of what it shows.
func TestViews(t *testing.T) {
	s := open(t, "testdata/signs.pt")
	for _, name := range []string{"conj", "adjoint", "neg", "both", "row", "half"} {
		x, want := s.Tensor("view."+name), s.Tensor("same."+name)
		if x == nil || want == nil || x.String() != want.String() || !bytes.Equal(elements(t, s, x), elements(t, s, want)) {
			t.Errorf("%s: got %v of other elements, want those of %v", name, x, want)
		}
	}
	dst := t.TempDir()
	if _, err := Copy(s, dst, &Options{Format: DCP, MaxMem: 1 << 24}); err != nil {
		t.Fatal(err)
	}
	c := open(t, dst)
	for _, x := range s.Tensors {
		if !bytes.Equal(elements(t, s, x), elements(t, c, c.Tensor(x.Name))) {
			t.Errorf("%s: other elements in the copy", x.Name)
		}
	}
}

// Of a folder with pytorch_model.bin that is the model, whatever training has left
// beside, unless there are safetensors.
func TestModelFolder(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/legacy.pt")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"pytorch_model.bin": data, "training_args.bin": []byte("no tensors"), "optimizer.pt": data} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sameSets(t, open(t, dir), open(t, "testdata/legacy.pt"))
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := open(t, dir); s.Format != Safetensors || len(s.Tensors) > 0 {
		t.Errorf("got %d tensors of %s, want the empty file of safetensors", len(s.Tensors), s.Format)
	}
}

// Few bytes are kept in memory, however large the tensors are.
func BenchmarkCopy(b *testing.B) {
	s := random(b, map[string][]int{"a": {4096, 4096}, "b": {4096, 4096}})
	g, _ := ckpt.ParseTarget("n=4:*=S(1)")
	b.SetBytes(s.Bytes())
	b.ReportAllocs()
	for b.Loop() {
		dst := b.TempDir()
		if _, err := Copy(s, dst, &Options{Format: DCP, Target: g, MaxMem: 256 << 20}); err != nil {
			b.Fatal(err)
		}
		os.RemoveAll(dst)
	}
}
