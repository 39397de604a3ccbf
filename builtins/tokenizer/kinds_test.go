package tokenizer

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// kinds are what testdata/make.py makes.
type kinds struct {
	Texts []string
	Kinds map[string]kindOf
}

// A kindOf is a tokenizer, and what Tokenizers makes of the texts with it.
type kindOf struct {
	File  json.RawMessage
	Size  int
	Cases []struct {
		Decoded, All, Broken string
		IDs, Bare            []int
	}
}

func readKinds(t testing.TB, path string) *kinds {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var k kinds
	if err := json.NewDecoder(z).Decode(&k); err != nil {
		t.Fatal(err)
	}
	return &k
}

// What the Tokenizers library makes of texts is what we do.
func TestAgreesWithTokenizers(t *testing.T) {
	compareKinds(t, readKinds(t, "testdata/kinds.json.gz"))
}

// The same for all texts, and with the large table that SentencePiece normalizes
// with, where a Python has the library: TPSH_PYTHON names it.
func TestTorchTokenizers(t *testing.T) {
	python := os.Getenv("TPSH_PYTHON")
	if python == "" {
		t.Skip("TPSH_PYTHON names no Python")
	}
	folder := t.TempDir()
	make := exec.Command(python, "make.py", "--all", folder)
	make.Dir = "testdata"
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("make.py: %v\n%s", err, out)
	}
	compareKinds(t, readKinds(t, filepath.Join(folder, "kinds.json.gz")))
}

func compareKinds(t *testing.T, all *kinds) {
	if len(all.Kinds) < 60 || len(all.Texts) < 60 {
		t.Fatalf("got %d tokenizers and %d texts, want 60 of both", len(all.Kinds), len(all.Texts))
	}
	for name, want := range all.Kinds {
		t.Run(name, func(t *testing.T) {
			k, err := Parse(want.File)
			if err != nil {
				t.Fatal(err)
			}
			if k.Size() != want.Size {
				t.Errorf("got %d tokens, want %d", k.Size(), want.Size)
			}
			for i, text := range all.Texts {
				c := want.Cases[i]
				for frame, want := range map[bool][]int{true: c.IDs, false: c.Bare} {
					if got, err := k.Encode(text, frame); err != nil || !slices.Equal(got, want) {
						t.Errorf("Encode(%q, %v): got %v, %v, want %v (got %q, want %q)", text, frame, got, err, want, k.spell(got), k.spell(want))
					}
				}
				odd := []int{}
				for i := 1; i < len(c.IDs); i += 2 {
					odd = append(odd, c.IDs[i])
				}
				for _, d := range []struct {
					ids  []int
					skip bool
					want string
				}{{c.IDs, true, c.Decoded}, {c.IDs, false, c.All}, {odd, true, c.Broken}} {
					if got, err := k.Decode(d.ids, d.skip); err != nil || got != d.want {
						t.Errorf("Decode(%v, %v) of %q: got %q, %v, want %q", d.ids, d.skip, text, got, err, d.want)
					}
				}
			}
		})
	}
}

// spell returns the tokens of ids.
func (t *Tokenizer) spell(ids []int) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i], _ = t.names.get(id)
	}
	return list
}
