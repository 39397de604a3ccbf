package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
)

// The files of older layouts that hold the same tokens as a tokenizer.json make
// the same of texts.
func TestOlderLayouts(t *testing.T) {
	all := readKinds(t, "testdata/kinds.json.gz")
	specials := `"cls_token": "<s>", "sep_token": {"content": "<sep>"}, "mask_token": "[MASK]"`
	for _, c := range []struct{ kind, config string }{
		{"bert", `{"tokenizer_class": "BertTokenizer"}`},
		{"bert-cased", `{"do_lower_case": false}`},
		{"gpt2", `{"tokenizer_class": "GPT2Tokenizer"}`},
		{"prefix", `{"add_prefix_space": true}`},
		{"roberta", `{"tokenizer_class": "RobertaTokenizerFast", ` + specials + `}`},
		{"clip", `{"tokenizer_class": "CLIPTokenizer", "bos_token": "<s>", "eos_token": "<sep>", "unk_token": "<unk>"}`},
	} {
		want := load(t, c.kind)
		config, err := ParseConfig([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Model struct {
				Vocab  vocab
				Merges mergeLines
			}
		}
		if err := json.Unmarshal(all.Kinds[c.kind].File, &f); err != nil {
			t.Fatal(err)
		}
		f.Model.Vocab["<s>"], f.Model.Vocab["<sep>"] = want.addedIDs["<s>"], want.addedIDs["<sep>"]
		got := older(t, f.Model.Vocab, f.Model.Merges, config)
		for _, text := range all.Texts {
			if strings.ContainsAny(text, "<[") || strings.Contains(text, "word") {
				continue // the older files name no added tokens
			}
			a, err := want.Encode(text, true)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := got.Encode(text, true); err != nil || !slices.Equal(a, b) {
				t.Errorf("%s: Encode(%q): got %q, %v, want %q", c.kind, text, got.spell(b), err, want.spell(a))
			}
			if x, err := got.Decode(a, true); err != nil {
				t.Errorf("%s: Decode: got %q, %v", c.kind, x, err)
			}
		}
	}
}

// older reads tokens as files of older layouts.
func older(t *testing.T, v vocab, merges mergeLines, c *Config) *Tokenizer {
	t.Helper()
	if merges == nil {
		tokens := keysOf(v)
		sort.Slice(tokens, func(i, j int) bool { return v[tokens[i]] < v[tokens[j]] })
		tokens = tokens[:slices.Index(tokens, "<s>")] // of which BERT has none
		k, err := ParseVocab([]byte(strings.Join(tokens, "\n")+"\n"), c)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	lines := "#version: 0.2\n"
	for _, m := range merges {
		lines += fmt.Sprintf("%s %s\n", m[0], m[1])
	}
	k, err := ParseMerges(raw(v), []byte(lines), c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestOlderRefuses(t *testing.T) {
	for _, c := range []struct {
		read func() (*Tokenizer, error)
		want string
	}{
		{func() (*Tokenizer, error) { return ParseVocab([]byte("a\nb\na\n"), &Config{}) }, `line 3: got the token "a", which line 1 has`},
		{func() (*Tokenizer, error) { return ParseVocab([]byte("a\nb\n"), &Config{}) }, `got no token "[UNK]", want a vocabulary of BERT`},
		{func() (*Tokenizer, error) { return ParseMerges([]byte("["), nil, &Config{}) }, "vocab.json: got no JSON"},
		{func() (*Tokenizer, error) { return ParseMerges([]byte("[]"), nil, &Config{}) }, "vocab.json: got []"},
		{func() (*Tokenizer, error) {
			return ParseMerges([]byte(`{"a": 0}`), []byte("a b\n"), &Config{})
		}, `model: BPE: merge 0, "a" and "b": "b" is not in the vocabulary`},
		{func() (*Tokenizer, error) {
			return ParseMerges([]byte(`{"a": 0}`), nil, &Config{Class: "RobertaTokenizer"})
		}, `vocab.json: got no token "<s>", which RobertaTokenizer puts around a text`},
		{func() (*Tokenizer, error) { return ParseSentencePiece([]byte("text")) }, "no message of Protocol Buffers"},
		{func() (*Tokenizer, error) { return ParseSentencePiece(nil) }, "got no pieces"},
		{func() (*Tokenizer, error) { return ParseSentencePiece([]byte("\x0a\x03\x0a\x01a\x12\x02\x18\x04")) }, "trainer_spec.model_type: got 4, want 1 (Unigram) or 2 (BPE)"},
	} {
		if _, err := c.read(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// Whatever parses can be used.
func FuzzSentencePiece(f *testing.F) {
	all := readKinds(f, "testdata/kinds.json.gz")
	for _, name := range []string{"unigram", "bpe-bytes"} {
		f.Add(all.Models[name].Model, "a b <sep>\xff")
	}
	f.Add([]byte("\x0a\x03\x0a\x01a\x12\x02\x18\x02"), "aa")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		k, err := ParseSentencePiece(data)
		if err != nil {
			return
		}
		if ids, err := k.Encode(text, true); err == nil {
			if _, err := k.Decode(ids, false); err != nil {
				t.Fatalf("Decode(Encode(%q)): %v", text, err)
			}
		}
	})
}

func FuzzOlder(f *testing.F) {
	f.Add("[UNK]\n[CLS]\n[SEP]\na\n##b\n", `{"a": 0, "b": 1, "ab": 2}`, "a b\n", `{"tokenizer_class": "GPT2Tokenizer"}`)
	f.Add("", `{"<s>": 0, "</s>": 1}`, "", `{"tokenizer_class": "RobertaTokenizer", "added_tokens_decoder": {"7": {"content": "x"}}}`)
	f.Fuzz(func(t *testing.T, lines, vocabulary, merges, config string) {
		c, err := ParseConfig([]byte(config))
		if err != nil {
			return
		}
		for _, read := range []func() (*Tokenizer, error){
			func() (*Tokenizer, error) { return ParseVocab([]byte(lines), c) },
			func() (*Tokenizer, error) { return ParseMerges([]byte(vocabulary), []byte(merges), c) },
		} {
			if k, err := read(); err == nil {
				k.Encode("ab a", true)
			}
		}
	})
}
