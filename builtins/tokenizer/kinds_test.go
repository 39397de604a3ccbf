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
	// Models are those of SentencePiece.
	Models map[string]struct {
		Model []byte
		Size  int
		Cases []struct {
			Text    string
			IDs     []int
			Decoded *string // nil where a token is unknown, of which SentencePiece makes another text
		}
	}
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
	all := readKinds(t, "testdata/kinds.json.gz")
	compareKinds(t, all)
	compareModels(t, all)
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
	all := readKinds(t, filepath.Join(folder, "kinds.json.gz"))
	compareKinds(t, all)
	compareModels(t, all)
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

func compareModels(t *testing.T, all *kinds) {
	if len(all.Models) < 5 {
		t.Fatalf("got %d models of SentencePiece, want 5", len(all.Models))
	}
	for name, want := range all.Models {
		t.Run(name, func(t *testing.T) {
			k, err := ParseSentencePiece(want.Model)
			if err != nil {
				t.Fatal(err)
			}
			if k.Size() != want.Size {
				t.Errorf("got %d tokens, want %d", k.Size(), want.Size)
			}
			for _, c := range want.Cases {
				if got, err := k.Encode(c.Text, true); err != nil || !slices.Equal(got, c.IDs) {
					t.Errorf("Encode(%q): got %v, %v, want %v (got %q, want %q)", c.Text, got, err, c.IDs, k.spell(got), k.spell(c.IDs))
				}
				if got, err := k.Decode(c.IDs, true); c.Decoded != nil && (err != nil || got != *c.Decoded) {
					t.Errorf("Decode(%v): got %q, %v, want %q", c.IDs, got, err, *c.Decoded)
				}
			}
		})
	}
}
