package bpe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func load(t testing.TB, name string) *Tokenizer {
	t.Helper()
	k, err := Parse(read(t, name+".json"))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return k
}

// What the tokenizers library of Hugging Face makes of texts is what we do; the
// files are those of testdata/make.py.
func TestAgreesWithTokenizers(t *testing.T) {
	var all map[string]struct {
		Size  int
		Cases []struct {
			Text, Decoded, All, Broken string
			IDs, Bare                  []int
		}
	}
	if err := json.Unmarshal(read(t, "cases.json"), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("got %d tokenizers, want 10", len(all))
	}
	for name, want := range all {
		k := load(t, name)
		if k.Size() != want.Size {
			t.Errorf("%s: got %d tokens, want %d", name, k.Size(), want.Size)
		}
		for _, c := range want.Cases {
			for frame, want := range map[bool][]int{true: c.IDs, false: c.Bare} {
				if got, err := k.Encode(c.Text, frame); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: Encode(%q, %v): got %v, %v, want %v", name, c.Text, frame, got, err, want)
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
					t.Errorf("%s: Decode(%v, %v): got %q, %v, want %q", name, d.ids, d.skip, got, err, d.want)
				}
			}
		}
	}
}

// mergeSlowly is merge as the paper has it: the first pair of the list that is
// there, everywhere from the left, again and again.
func mergeSlowly(merges map[pair]mergedToken, ids []int) []int {
	for {
		best := -1
		for i := 0; i+1 < len(ids); i++ {
			if m, ok := merges[pair{ids[i], ids[i+1]}]; ok && (best < 0 || m.rank < merges[pair{ids[best], ids[best+1]}].rank) {
				best = i
			}
		}
		if best < 0 {
			return ids
		}
		ids = slices.Concat(ids[:best], []int{merges[pair{ids[best], ids[best+1]}].id}, ids[best+2:])
	}
}

func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		merges, next := map[pair]mergedToken{}, 3
		for range rapid.IntRange(0, 12).Draw(t, "merges") {
			p := pair{rapid.IntRange(0, next-1).Draw(t, "left"), rapid.IntRange(0, next-1).Draw(t, "right")}
			if _, ok := merges[p]; !ok {
				merges[p] = mergedToken{len(merges), next}
				next++
			}
		}
		ids := rapid.SliceOfN(rapid.IntRange(0, 2), 0, 30).Draw(t, "ids")
		want := mergeSlowly(merges, slices.Clone(ids))
		if got := merge(merges, slices.Clone(ids)); !slices.Equal(got, want) {
			t.Fatalf("merge(%v, %v): got %v, want %v", merges, ids, got, want)
		}
	})
}

// A word of a million bytes is no reason to wait.
func TestLongWord(t *testing.T) {
	ids, err := load(t, "gpt2").Encode(strings.Repeat("the", 300_000), true)
	if err != nil || len(ids) > 600_000 {
		t.Fatalf("got %d tokens, %v", len(ids), err)
	}
}

func TestParseRefuses(t *testing.T) {
	const byteLevel = `, "pre_tokenizer": {"type": "ByteLevel"}}`
	model := func(s string) string { return `{"model": {"type": "BPE", ` + s + `}` + byteLevel }
	with := func(s string) string {
		return `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, ` + s + `}`
	}
	for _, c := range []struct{ in, want string }{
		{``, "unexpected end of JSON input"},
		{`[]`, "cannot unmarshal array"},
		{`{}`, "model: got nothing, want that of a BPE"},
		{`{"model": {"type": "WordPiece"}}`, `model: got the type "WordPiece", want BPE`},
		{model(`"dropout": 0.1`), "model: got a dropout of 0.1, want none"},
		{model(`"byte_fallback": true`), "model: got byte_fallback, want none"},
		{model(`"end_of_word_suffix": "</w>"`), `model: got the end_of_word_suffix "</w>", want none`},
		{model(`"continuing_subword_prefix": "##"`), `model: got the continuing_subword_prefix "##", want none`},
		{model(`"unk_token": "?"`), `model: got the unk_token "?", want a token of the vocabulary`},
		{model(`"vocab": {"a": -1}`), `token "a": got the id -1, want 0 to 2147483647`},
		{model(`"vocab": {"a": 1, "b": 1}`), `got the id 1 for "a" and "b", want one token for each`},
		{model(`"vocab": {"a": 0, "b": 1}, "merges": ["a b"]`), `merge 0, "a" and "b": "ab" is not in the vocabulary`},
		{model(`"vocab": {"a": 0}, "merges": ["a"]`), `got the merge "a", want two tokens`},
		{model(`"vocab": {"a": 0}, "merges": [["a", "b", "c"]]`), `got the merge ["a", "b", "c"], want two tokens`},
		{with(`"normalizer": {"type": "NFKC"}`), `normalizer: got "NFKC", want none`},
		{with(`"pre_tokenizer": null`), "pre_tokenizer: got no ByteLevel in it"},
		{with(`"pre_tokenizer": {"type": "Metaspace"}`), `pre_tokenizer: got "Metaspace", want ByteLevel, Split, Digits`},
		{with(`"pre_tokenizer": {"type": "Split", "behavior": "Isolated"}`), "pre_tokenizer: Split: got no pattern"},
		{with(`"pre_tokenizer": {"type": "Split", "pattern": {"String": "-"}, "behavior": "Odd"}`), `pre_tokenizer: Split: got the behavior "Odd"`},
		{with(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a(?=b)"}, "behavior": "Isolated"}`), `pre_tokenizer: Split: got the pattern "a(?=b)"`},
		{with(`"pre_tokenizer": ` + strings.Repeat(`{"type": "Sequence", "pretokenizers": [`, 20) + strings.Repeat("]}", 20)), "pre_tokenizer: got Sequences 9 deep, want at most 8"},
		{with(`"added_tokens": [{"id": 3, "content": ""}]`), "added_tokens: got an empty token with the id 3"},
		{with(`"added_tokens": [{"id": 0, "content": "<s>"}]`), `added_tokens: got the id 0 for "<s>" and "a"`},
		{with(`"added_tokens": [{"id": 2, "content": "a"}]`), `added_tokens: token "a": got the ids 0 and 2, want one`},
		{with(`"pre_tokenizer": {"type": "ByteLevel"}, "post_processor": {"type": "BertProcessing"}`), `post_processor: got "BertProcessing", want ByteLevel`},
		{with(`"pre_tokenizer": {"type": "ByteLevel"}, "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]}`), `post_processor: got the special token "<s>" in single`},
		{with(`"pre_tokenizer": {"type": "ByteLevel"}, "post_processor": {"type": "TemplateProcessing", "single": []}`), "post_processor: got a template with the text in it 0 times, want once"},
	} {
		if _, err := Parse([]byte(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%s): got %v, want %s", c.in, err, c.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	k, err := Parse([]byte(`{"model": {"vocab": {"a": 0, "b": 1}}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Encode("ab c", true); err == nil || !strings.Contains(err.Error(), `got the byte 0x20, in " c", want bytes that have tokens (the vocabulary lacks 'Ġ')`) {
		t.Errorf("Encode: got %v", err)
	}
	if _, err := k.Decode([]int{1, 2}, true); err == nil || err.Error() != "got 2 at index 1, want the id of a token (there are 2)" {
		t.Errorf("Decode: got %v", err)
	}
}

// Whatever parses can be used; what a tokenizer of all bytes encodes it decodes.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"gpt2", "qwen", "digits"} {
		f.Add(read(f, name+".json"), "it's 12 <s>")
	}
	f.Add([]byte(`{"model": {"vocab": {"a": 0}, "unk_token": "a"}, "pre_tokenizer": {"type": "ByteLevel"}}`), "b")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		k, err := Parse(data)
		if err != nil {
			return
		}
		ids, err := k.Encode(text, true)
		if err != nil {
			return
		}
		if _, err := k.Decode(ids, false); err != nil {
			t.Fatalf("Decode(Encode(%q)): %v", text, err)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", "Hello  world", "it's\u00a0\u3000 \xff\xc3", "<sep> <s", "\U0001f600"} {
		f.Add(s)
	}
	k := load(f, "gpt2")
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := k.Encode(text, true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Decode(ids, false)
		// Tokens of lstrip and rstrip take the space beside them away.
		if strings.Contains(text, "<left>") || strings.Contains(text, "<right>") {
			return
		}
		if want := valid(text); err != nil || got != want || !utf8.ValidString(got) {
			t.Fatalf("Decode(Encode(%q)): got %q, %v", text, got, err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	text, err := os.ReadFile("../../examples/data/gpl-3.txt")
	if err != nil {
		b.Fatal(err)
	}
	k := load(b, "qwen")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := k.Encode(string(text), true); err != nil {
			b.Fatal(err)
		}
	}
}
