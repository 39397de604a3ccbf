package ckpt

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/mesh"
)

// tiles finds what counting finds.
func TestTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "shape")
		boxes := []mesh.Box{Whole(shape)}
		for range rapid.IntRange(0, 6).Draw(t, "cuts") { // cuts one box in two
			i := rapid.IntRange(0, len(boxes)-1).Draw(t, "box")
			if len(shape) == 0 {
				continue
			}
			d := rapid.IntRange(0, len(shape)-1).Draw(t, "dim")
			at := rapid.IntRange(boxes[i].Lo[d], boxes[i].Hi[d]).Draw(t, "at")
			a := mesh.Box{Lo: boxes[i].Lo, Hi: slices.Clone(boxes[i].Hi)}
			b := mesh.Box{Lo: slices.Clone(boxes[i].Lo), Hi: boxes[i].Hi}
			a.Hi[d], b.Lo[d] = at, at
			boxes[i] = a
			boxes = append(boxes, b)
		}
		if rapid.Bool().Draw(t, "spoilt") {
			i := rapid.IntRange(0, len(boxes)-1).Draw(t, "spoilt box")
			boxes = append(boxes[:i], boxes[min(len(boxes), i+rapid.IntRange(0, 1).Draw(t, "gone")):]...)
			if len(boxes) > 0 && rapid.Bool().Draw(t, "twice") {
				boxes = append(boxes, boxes[0])
			}
		}
		boxes = slices.DeleteFunc(boxes, func(b mesh.Box) bool { return b.Numel() == 0 })
		counts := make([]int, Whole(shape).Numel())
		for _, b := range boxes {
			_ = Walk(Whole(shape), b, b, func(at, _, n int) error {
				for i := range n {
					counts[at+i]++
				}
				return nil
			})
		}
		want := !slices.ContainsFunc(counts, func(n int) bool { return n != 1 })
		if got := Tiles(shape, boxes); got != want {
			t.Fatalf("Tiles(%v, %v) = %v, want %v", shape, boxes, got, want)
		}
	})
}

// slabs tile a box, in order.
func TestSlabs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 4).Draw(t, "shape")
		most := rapid.IntRange(1, 30).Draw(t, "most")
		next := 0
		_ = Slabs(Whole(shape), most, func(b mesh.Box) error {
			if got := Place(shape, b); got != next || b.Numel() > most || b.Numel() == 0 {
				t.Fatalf("%v of %v from %d on, want %d, of at most %d elements", b, shape, got, next, most)
			}
			next += b.Numel()
			return nil
		})
		if next != Whole(shape).Numel() {
			t.Fatalf("%d elements of %v", next, shape)
		}
	})
}

// The Sum of a tensor is that of its parts, changes with every bit of it, and
// tells elements that changed places.
func TestSum(t *testing.T) {
	sum := func(data []byte, size int) (s Sum) { s.AddRun(data, size, 0); return s }
	data := []byte("abcdefghijklmnop")
	for _, size := range []int{1, 2, 4, 8} {
		all, parts := sum(data, size), sum(data[:8], size)
		var rest Sum
		rest.AddRun(data[8:], size, 8/size)
		parts.Add(rest)
		if all != parts {
			t.Errorf("%d bytes an element: %v of the whole, %v of the parts", size, all, parts)
		}
		for bit := range 8 * len(data) {
			other := bytes.Clone(data)
			other[bit/8] ^= 1 << (bit % 8)
			if sum(other, size) == all {
				t.Errorf("%d bytes an element: bit %d makes no difference", size, bit)
			}
		}
		if swapped := append(data[8:16:16], data[:8]...); sum(swapped, size) == all {
			t.Errorf("%d bytes an element: places make no difference", size)
		}
	}
	s := Sum{1, math.MaxUint64}
	var back Sum
	if err := back.UnmarshalText([]byte(s.String())); err != nil || back != s {
		t.Errorf("%v read back as %v, %v", s, back, err)
	}
}

// Every bit of an index and of a data file matters, and every byte missing.
func TestDamage(t *testing.T) {
	root := folder(t)
	if err := save(root, 1, `{"a":[1,2.5,"x"]}`, one(3, 1)); err != nil {
		t.Fatal(err)
	}
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, entry := range list {
		good, err := root.ReadFile(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		for bit := range 8 * len(good) {
			bad := bytes.Clone(good)
			bad[bit/8] ^= 1 << (bit % 8)
			wantDamaged(t, root, entry.Name(), bad)
		}
		for n := range good {
			wantDamaged(t, root, entry.Name(), good[:n])
		}
		if err := root.WriteFile(entry.Name(), good, 0o644); err != nil {
			t.Fatal(err)
		}
		if bad := problems(root); bad != nil {
			t.Fatalf("as it was: %v", bad)
		}
	}
}

func wantDamaged(t *testing.T, root *os.Root, name string, data []byte) {
	t.Helper()
	if err := root.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	var bad *FormatError
	if err := problems(root); !errors.As(err, &bad) {
		t.Fatalf("%s of %d bytes: got %v, want a FormatError", name, len(data), err)
	}
}

// problems returns what is wrong with the checkpoint in a folder.
func problems(root *os.Root) error {
	r, err := Open(root)
	if err != nil {
		return err
	}
	defer r.Close()
	return errors.Join(r.Verify(1<<20, func(int64) {})...)
}

func TestNoCheckpoint(t *testing.T) {
	root := folder(t)
	want := "it is a folder without the file index.json, and so no checkpoint"
	if _, err := Open(root); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := save(root, 1, "null", one(3, 1)); err != nil {
		t.Fatal(err)
	}
	if err := root.Remove("00000001-00000.safetensors"); err != nil {
		t.Fatal(err)
	}
	want = "00000001-00000.safetensors: the file is missing"
	if _, err := Open(root); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// sound returns a small index, to be spoilt.
func sound() *Index {
	return &Index{
		State:   []byte("null"),
		Tensors: []*Tensor{{"w", "float32", []int{2, 3}, Sum{}, []Piece{{[]int{0, 0}, []int{1, 3}, 0, 0}, {[]int{1, 0}, []int{2, 3}, 0, 12}}}},
		Files:   []*File{{"00000001-00000.safetensors", 24, make([]byte, 4)}},
	}
}

// An index whose checksum is right may still make no sense.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		spoil func(x *Index)
		want  string
	}{
		{func(x *Index) { x.Tensors[0].DType = "F32" }, `tensor "w" of the unknown dtype "F32"`},
		{func(x *Index) { x.Tensors[0].Shape = []int{-2, 3} }, "a shape that cannot be"},
		{func(x *Index) { x.Tensors[0].Shape = []int{1 << 40, 1 << 40} }, "a shape that cannot be"},
		{func(x *Index) { x.Tensors[0].Shape = []int{3, 3} }, "overlap or leave a gap"},
		{func(x *Index) { x.Tensors[0].Shape = []int{6} }, "a piece outside its shape"},
		{func(x *Index) { x.Tensors[0].Pieces[0].Hi = []int{3, 3} }, "a piece outside its shape"},
		{func(x *Index) { x.Tensors[0].Pieces[1].File = 1 }, "a piece that is in no file"},
		{func(x *Index) { x.Tensors[0].Pieces[1].Offset = 13 }, "a piece that is in no file"},
		{func(x *Index) { x.Tensors[0].Pieces[1].Offset = 11 }, "two pieces lie at byte 11 of 00000001-00000.safetensors"},
		{func(x *Index) { x.Tensors = append(x.Tensors, x.Tensors[0]) }, "tensors that are not in order"},
		{func(x *Index) { x.Files[0].Name = "../secret" }, "a data file without a name of its own"},
		{func(x *Index) { x.Files = append(x.Files, x.Files[0]) }, "a data file without a name of its own"},
		{func(x *Index) { x.Files[0].Sums = nil }, "0 bytes of checksums for 00000001-00000.safetensors of 24 bytes"},
		{func(x *Index) { x.Files[0].Size = math.MaxInt64 }, "4 bytes of checksums"},
	} {
		x := sound()
		c.spoil(x)
		data, err := x.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(data); err == nil || !strings.HasPrefix(err.Error(), "index.json: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want index.json: ... %s", err, c.want)
		}
	}
}

// What Decode takes, Encode writes.
func FuzzDecode(f *testing.F) {
	good, err := sound().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format":"tpsh checkpoint","version":3}`))
	f.Add(bytes.Replace(good, []byte("24"), []byte("99999999999999999999"), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		// A fuzzer does not find checksums: the data is what they are of, too.
		var body json.RawMessage
		if json.Unmarshal(data, &body) == nil {
			fuzzIndex(t, body)
		}
		x, err := Decode(data)
		if err != nil {
			var bad *FormatError
			if !errors.As(err, &bad) {
				t.Fatalf("got %T, want a FormatError", err)
			}
			return
		}
		if again, err := x.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("got %s, %v, want %s", again, err, data)
		}
	})
}

// fuzzIndex decodes an index of which body is what it holds.
func fuzzIndex(t *testing.T, body []byte) {
	x := new(Index)
	if json.Unmarshal(body, x) != nil || x.check() != nil {
		return
	}
	bytes := int64(0)
	for _, f := range x.Files {
		bytes += f.Size
	}
	if x.Bytes() > bytes {
		t.Fatalf("tensors of %d bytes in files of %d", x.Bytes(), bytes)
	}
	data, err := x.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(data); err != nil {
		var again Index
		_ = json.Unmarshal(data, &again)
		t.Fatalf("%s: %v", data, err)
	}
}

// However the bytes of a tensor are cut, and in whatever order the parts come, their Sums
// add up to that of the whole.
func TestSumParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(t, "size")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		data := rapid.SliceOfN(rapid.Byte(), n*size, n*size).Draw(t, "data")
		var whole, parts Sum
		whole.AddRun(data, size, 0)
		for at := 0; at < n; {
			k := rapid.IntRange(1, n-at).Draw(t, "k")
			var part Sum
			part.AddRun(data[at*size:(at+k)*size], size, at)
			parts.Add(part)
			at += k
		}
		if whole != parts {
			t.Fatalf("got %v, want %v", parts, whole)
		}
	})
}

// A checkpoint of the first version is read, with the hashes that it has.
func TestOldVersion(t *testing.T) {
	root := folder(t)
	if err := save(root, 1, "null", one(10, 1)); err != nil {
		t.Fatal(err)
	}
	r, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	w := r.Tensors[0]
	data := make([]byte, w.Bytes())
	if err := r.Read(data, w, Whole(w.Shape)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	r.old, w.Sum = true, Sum{}
	w.Sum.AddOldBox(data, w.ItemSize(), w.Shape, Whole(w.Shape))
	if err := Commit(root, r.Index); err != nil {
		t.Fatal(err)
	}
	if r, err = Open(root); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if bad := r.Verify(16, func(int64) {}); len(bad) > 0 || !r.OldSums() {
		t.Errorf("got %v, %v", bad, r.OldSums())
	}
}
