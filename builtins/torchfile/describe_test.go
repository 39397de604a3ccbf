package torchfile

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"tpsh/builtins/pickle"
)

// zipOf returns an archive with entries of these names and one text.
func zipOf(t *testing.T, text string, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is no file of tensors says what it is.
func TestOpenSaysWhatItIs(t *testing.T) {
	object := func(module, name string) string { return "\x80\x02c" + module + "\n" + name + "\n." }
	for _, c := range []struct{ name, file, want string }{
		{"module", zipOf(t, object("__main__", "Net"), "m/data.pkl"), `it wants "__main__.Net".*: it is a whole object, such as a module, and not its tensors; torch.save(module.state_dict(), path)`},
		{"script", zipOf(t, object("__torch__.net", "Net"), "m/data.pkl"), `it is a TorchScript program; torch.save(module.state_dict(), path)`},
		{"export", zipOf(t, "pt2", "m/archive_format"), "it is a program of torch.export, and not tensors"},
		{"npz", zipOf(t, "", "x.npy"), "it is an .npz file of NumPy: load_npz reads it"},
		{"zip", zipOf(t, "", "x.txt"), "it is a zip archive without data.pkl"},
		{"npy", "\x93NUMPY\x01\x00v\x00", "it is an .npy file of NumPy: load_npy reads it"},
		{"safetensors", "\x02\x00\x00\x00\x00\x00\x00\x00{}", "it is a safetensors file: open_safetensors reads it"},
		{"pickle", "\x80\x04}.", "it is a pickle of Python's, which torch.save has not written"},
		{"gguf", "GGUF\x03\x00\x00\x00", "it is a GGUF file of llama.cpp, which is not read"},
		{"text", "hello", "it is neither a zip archive nor"},
	} {
		_, err := Open(strings.NewReader(c.file), int64(len(c.file)))
		if err == nil {
			t.Errorf("%s: got no error", c.name)
			continue
		}
		at := 0
		for _, part := range strings.Split(c.want, ".*") {
			next := strings.Index(err.Error()[at:], part)
			if next < 0 {
				t.Errorf("%s: got %v, want %s", c.name, err, c.want)
				break
			}
			at += next + len(part)
		}
	}
}

// A dtype that is not read is no module, and the error does not call it one.
func TestOpenSaysNoMore(t *testing.T) {
	for _, name := range []string{"torch\ncomplex32", "collections\nCounter", "builtins\ncomplex"} {
		file := zipOf(t, "\x80\x02c"+name+"\n.", "m/data.pkl")
		_, err := Open(strings.NewReader(file), int64(len(file)))
		if err == nil || !strings.HasSuffix(err.Error(), "and nothing of it is run") {
			t.Errorf("%q: got %v, want that nothing of it is run, and no more", name, err)
		}
	}
}

// A value that is no tensor is called by what it is in PyTorch.
func TestKindOf(t *testing.T) {
	elements := "\x01\x00\x00\x00\x00\x00\x00\x00abcd"
	file := legacy(t, pickle.PersistentID{ID: pickle.Tuple{"storage", pickle.Class("torch.FloatStorage"), "7", "cpu", 1, nil}}, elements)
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if got := KindOf(f.Value); got != "a storage" {
		t.Errorf("got %q, want a storage", got)
	}
	if got := KindOf(pickle.Func(first)); got != "a function or a class" {
		t.Errorf("got %q, want a function or a class", got)
	}
}
