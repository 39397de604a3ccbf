package dcp

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/builtins/pickle"
	"tpsh/builtins/torchfile"
)

// What Encode writes Decode reads as the same.
func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Metadata{Paths: map[string][]any{}}
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zé.\n ]{1,8}`), 1, 6, rapid.ID[string]).Draw(t, "names")
		for i, name := range names {
			place := Place{rapid.StringMatching(`__[0-9]_0\.distcp`).Draw(t, "file"), rapid.Int64Range(0, 1<<50).Draw(t, "at"), rapid.Int64Range(0, 1<<50).Draw(t, "n")}
			m.Paths[name] = []any{"x", i, name}
			if rapid.Bool().Draw(t, "value") {
				m.Values = append(m.Values, Value{name, place})
				continue
			}
			n := rapid.IntRange(0, 1<<40).Draw(t, "rows")
			m.Tensors = append(m.Tensors, Tensor{name, rapid.SampledFrom([]torchfile.DType{"float32", "bfloat16", "int64", "float8_e5m2"}).Draw(t, "dtype"), []int{2 * n, 3},
				[]Chunk{{[]int{0, 0}, []int{n, 3}, place}, {[]int{n, 0}, []int{n, 3}, place}}})
		}
		data, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Tensors) != len(m.Tensors) || len(got.Values) != len(m.Values) || !reflect.DeepEqual(got.Paths, m.Paths) {
			t.Fatalf("got %+v, want %+v", got, m)
		}
		for _, x := range m.Tensors {
			found := false
			for _, y := range got.Tensors {
				// Two chunks at the same place of an empty tensor are one.
				found = found || x.Name == y.Name && x.DType == y.DType && reflect.DeepEqual(x.Shape, y.Shape) && (x.Shape[0] == 0 || reflect.DeepEqual(x.Chunks, y.Chunks))
			}
			if !found {
				t.Fatalf("%+v is not among %+v", x, got.Tensors)
			}
		}
	})
}

// Decode reads what PyTorch 2.15 has written.
func TestDecodeReal(t *testing.T) {
	data, err := os.ReadFile("../tensorfiles/testdata/dcp/.metadata")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Tensors) != 24 || len(m.Values) == 0 || len(m.Paths) != len(m.Tensors)+len(m.Values) {
		t.Errorf("got %d tensors, %d values and %d paths", len(m.Tensors), len(m.Values), len(m.Paths))
	}
	x := m.Tensors[1]
	if x.Name != "model.0.weight" || x.DType != "float32" || !reflect.DeepEqual(x.Shape, []int{10, 7}) || len(x.Chunks) != 4 || x.Chunks[3].Sizes[0] != 1 {
		t.Errorf("got %+v", x)
	}
}

// What is said of a size that is none is short, though what stands for it may be a tuple of millions.
func TestDecodeNested(t *testing.T) {
	index := &pickle.Object{Class: module + "MetadataIndex", State: dict("fqn", "w", "offset", pickle.Tuple{"@"})}
	place := &pickle.Object{Class: storage, State: dict("relative_path", "x", "offset", 0, "length", 1)}
	data, err := pickle.Append(nil, &pickle.Object{Class: module + "Metadata", State: dict("storage_data", dict(index, place))})
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte("X\x01\x00\x00\x00@"), []byte("N"+strings.Repeat("2\x86", 20)), 1)
	if _, err := Decode(data); err == nil || !strings.HasSuffix(err.Error(), "a size of a tuple") {
		t.Errorf("got %.200v, want that a tuple is no size", err)
	}
}

// Metadata that something is wrong with is refused.
func TestDecodeErrors(t *testing.T) {
	class := func(name string, state ...any) any {
		return &pickle.Object{Class: module + name, State: dict(state...)}
	}
	for _, test := range []struct {
		v    any
		want string
	}{
		{1, "something else than the metadata"},
		{class("Metadata", "x", 1), "does not say where its entries lie"},
		{class("Metadata", "storage_data", dict(), "state_dict_metadata", dict("w", 1)), "neither a tensor nor a value"},
		{class("Metadata", "storage_data", dict(), "state_dict_metadata", dict("w", class("BytesStorageMetadata", "x", 1))), "has no place"},
		{class("Metadata", "storage_data", dict("w", 1)), "kept in another way"},
		{&pickle.Object{Class: "subprocess.Popen", Args: pickle.Tuple{"touch x"}}, `it wants "subprocess.Popen"`},
		{class("Metadata", "storage_data", dict(class("MetadataIndex", "fqn", "w"), &pickle.Object{Class: storage, State: dict("relative_path", "../x", "offset", 0, "length", 1)})), "want the name of a file in the folder"},
		{class("Metadata", "storage_data", dict(class("MetadataIndex", "fqn", "w"), &pickle.Object{Class: storage, State: dict("relative_path", "x", "offset", 0, "length", 1, "transform_descriptors", &pickle.List{Items: []any{"zstd"}})})), "compressed or encrypted"},
	} {
		data, err := pickle.Append(nil, test.v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
