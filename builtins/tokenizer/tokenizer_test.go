package tokenizer

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// load returns one of the tokenizers of testdata/kinds.json.gz.
func load(t testing.TB, name string) *Tokenizer {
	t.Helper()
	k, err := Parse(readKinds(t, "testdata/kinds.json.gz").Kinds[name].File)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return k
}

// mergeSlowly is merge as the paper has it: the first pair of the list that is
// there, everywhere from the left, again and again.
func mergeSlowly(merges *mergeTable, ids []int) []int {
	for {
		best, first := -1, mergedToken{}
		for i := 0; i+1 < len(ids); i++ {
			if m, ok := merges.find(ids[i], ids[i+1]); ok && (best < 0 || m.rank < first.rank) {
				best, first = i, m
			}
		}
		if best < 0 {
			return ids
		}
		ids = slices.Concat(ids[:best], []int{int(first.id)}, ids[best+2:])
	}
}

func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 12
		merges, next := newMergeTable(most), 3
		for rank := range rapid.IntRange(0, most).Draw(t, "merges") {
			left, right := rapid.IntRange(0, next-1).Draw(t, "left"), rapid.IntRange(0, next-1).Draw(t, "right")
			if _, ok := merges.find(left, right); !ok {
				merges.add(left, right, mergedToken{int32(rank), int32(next)})
				next++
			}
		}
		ids := rapid.SliceOfN(rapid.IntRange(0, 2), 0, 30).Draw(t, "ids")
		want := mergeSlowly(merges, slices.Clone(ids))
		if got := merge(merges, slices.Clone(ids)); !slices.Equal(got, want) {
			t.Fatalf("merge of %v: got %v, want %v", ids, got, want)
		}
	})
}

// A word of a million bytes is no reason to wait.
func TestLongWord(t *testing.T) {
	ids, err := load(t, "llama2").Encode(strings.Repeat("the", 300_000), true)
	if err != nil || len(ids) > 600_000 {
		t.Fatalf("got %d tokens, %v", len(ids), err)
	}
}

func TestParseRefuses(t *testing.T) {
	model := func(s string) string { return `{"model": {"type": "BPE", ` + s + `}}` }
	with := func(s string) string {
		return `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, ` + s + `}`
	}
	nested := func(part, list string) string {
		return with(`"` + part + `": ` + strings.Repeat(`{"type": "Sequence", "`+list+`": [`, 20) + strings.Repeat("]}", 20))
	}
	const template = `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}]}`
	for _, c := range []struct{ in, want string }{
		{``, "unexpected end of JSON input"},
		{`[]`, "cannot unmarshal array"},
		{`{}`, "model: got nothing, want a BPE, WordPiece, Unigram or WordLevel"},
		{`{"model": 3}`, "model: json: cannot unmarshal number"},
		{`{"model": {}}`, "model: got no type, want BPE, WordPiece, Unigram or WordLevel"},
		{`{"model": {"type": "Neural"}}`, `model: got the type "Neural", want BPE, WordPiece, Unigram or WordLevel`},
		{model(`"vocab": {"a": -1}`), `model: BPE: token "a": got the id -1, want 0 to 2147483647`},
		{model(`"vocab": {"a": 1, "b": 1}`), `model: BPE: got the id 1 for "a" and "b", want one token for each`},
		{model(`"vocab": {"a": 0, "b": 1}, "merges": ["a b"]`), `model: BPE: merge 0, "a" and "b": "ab" is not in the vocabulary`},
		{model(`"vocab": {"a": 0}, "merges": ["a"]`), `got the merge "a", want two tokens`},
		{model(`"vocab": {"a": 0}, "merges": [["a", "b", "c"]]`), `got the merge ["a", "b", "c"], want two tokens`},
		{`{"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1}}`, "model: Unigram: unk_id: got 1, want the id of one of 1 tokens"},
		{`{"model": {"type": "Unigram", "vocab": [["a"]]}}`, `model: Unigram: got ]], want a token and a number`},
		{with(`"normalizer": {"type": "Upper"}`), `normalizer: got the type "Upper", want BertNormalizer, `},
		{with(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Upper"}]}`), `normalizer.normalizers[1]: got the type "Upper"`},
		{with(`"normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}`), `normalizer: Replace: pattern: "(": got a ( without a )`},
		{with(`"normalizer": {"type": "Precompiled", "precompiled_charsmap": "!"}`), "normalizer: Precompiled: precompiled_charsmap: illegal base64"},
		{with(`"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////fw=="}`), "normalizer: Precompiled: precompiled_charsmap: got a trie of 2147483647 bytes in 0"},
		{nested("normalizer", "normalizers"), "normalizers[0]: got Sequences 9 deep, want at most 8"},
		{with(`"pre_tokenizer": {"type": "Words"}`), `pre_tokenizer: got the type "Words", want BertPreTokenizer, ByteLevel`},
		{with(`"pre_tokenizer": {"type": "Split", "behavior": "Isolated"}`), "pre_tokenizer: Split: got no pattern, want a Regex or a String"},
		{with(`"pre_tokenizer": {"type": "Split", "pattern": {"String": "-"}, "behavior": "Odd"}`), `pre_tokenizer: Split: behavior: got "Odd"`},
		{with(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a)\\1"}, "behavior": "Isolated"}`), `pre_tokenizer: Split: pattern: "(a)\\1": got \1, which is not known here`},
		{with(`"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}`), `pre_tokenizer: Metaspace: replacement: got "ab", want one character`},
		{with(`"pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "last"}`), `pre_tokenizer: Metaspace: prepend_scheme: got "last", want always, first or never`},
		{with(`"pre_tokenizer": {"type": "FixedLength", "length": 0}`), "pre_tokenizer: FixedLength: length: got 0, want 1 or more"},
		{with(`"decoder": {"type": "Fused"}`), `decoder: got the type "Fused", want BPEDecoder`},
		{with(`"added_tokens": [{"id": 3, "content": ""}]`), "added_tokens[0]: got an empty token with the id 3"},
		{with(`"added_tokens": [{"id": 0, "content": "<s>"}]`), `added_tokens[0]: got the id 0 for "<s>" and "a"`},
		{with(`"added_tokens": [{"id": 2, "content": "a"}]`), `added_tokens[0]: token "a": got the ids 0 and 2, want one`},
		{with(`"post_processor": {"type": "Pairs"}`), `post_processor: got the type "Pairs", want BertProcessing`},
		{with(`"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 0]}`), `post_processor: BertProcessing: cls: got the id -1 for "", want that of a token`},
		{with(`"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]}`), `post_processor: TemplateProcessing: got the special token "<s>" in single`},
		{with(`"post_processor": {"type": "TemplateProcessing", "single": []}`), "post_processor: TemplateProcessing: got a template with the text in it 0 times, want once"},
		{with(`"post_processor": {"type": "Sequence", "processors": [` + template + `, {"type": "ByteLevel"}, ` + template + `]}`), "post_processor.processors[2]: TemplateProcessing: got a part that adds tokens behind a TemplateProcessing, want it before"},
	} {
		if _, err := Parse([]byte(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%s): got %v, want %s", c.in, err, c.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	k, err := Parse([]byte(`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}}`))
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

// Bytes that are no character are texts of their own to the decoders behind ByteFallback,
// as they are to Tokenizers 0.23, whose result this is.
func TestFallbackBytes(t *testing.T) {
	k, err := Parse([]byte(`{"model": {"type": "BPE", "vocab": {"<0xE2>": 0, "<0x96>": 1, "a": 2}, "merges": []},
		"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "WordPiece", "prefix": "##", "cleanup": false}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Decode([]int{2, 0, 1, 2}, true); err != nil || got != "a \uFFFD \uFFFD a" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Whatever parses can be used, with text of any bytes.
func FuzzParse(f *testing.F) {
	all := readKinds(f, "testdata/kinds.json.gz")
	for _, name := range []string{"gpt2", "clip", "bert", "mt5", "llama2", "replace", "scripts", "ctc"} {
		f.Add([]byte(all.Kinds[name].File), "it's 12 <s>\xff\u00e9")
	}
	f.Add([]byte(`{"model": {"merges": [], "vocab": {"a": 0}, "unk_token": "a"}, "pre_tokenizer": {"type": "ByteLevel"}}`), "b")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		k, err := Parse(data)
		if err != nil {
			return
		}
		ids, err := k.Encode(text, true)
		if err != nil {
			return
		}
		if _, err := k.Decode(ids, false); err != nil && !strings.Contains(err.Error(), "steps") {
			t.Fatalf("Decode(Encode(%q)): %v", text, err)
		}
	})
}

// The table of a Precompiled may be any bytes.
func FuzzCharsMap(f *testing.F) {
	f.Add([]byte{8, 0, 0, 0, 0, 4, 0, 0, 97, 1, 0, 0, 120, 0}, "a\u0301")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if m, err := newCharsMap(data); err == nil {
			m.apply(text)
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
		if strings.Contains(text, "<left>") || strings.Contains(text, "<right>") || strings.Contains(text, "<both>") || strings.Contains(text, "[MASK]") {
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
	k := load(b, "qwen2")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := k.Encode(string(text), true); err != nil {
			b.Fatal(err)
		}
	}
}
