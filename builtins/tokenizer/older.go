package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Config is what a tokenizer_config.json says of a tokenizer whose tokens are
// in files of older layouts. Its zero value is the default of all.
type Config struct {
	Class   string                `json:"tokenizer_class"`
	Lower   *bool                 `json:"do_lower_case"`
	Accents *bool                 `json:"strip_accents"`
	Chinese *bool                 `json:"tokenize_chinese_chars"`
	Prefix  bool                  `json:"add_prefix_space"`
	Unknown special               `json:"unk_token"`
	Cls     special               `json:"cls_token"`
	Sep     special               `json:"sep_token"`
	Bos     special               `json:"bos_token"`
	Eos     special               `json:"eos_token"`
	Pad     special               `json:"pad_token"`
	Mask    special               `json:"mask_token"`
	Added   map[string]addedToken `json:"added_tokens_decoder"`
}

// ParseConfig reads a tokenizer_config.json.
func ParseConfig(data []byte) (*Config, error) {
	c := new(Config)
	return c, json.Unmarshal(data, c)
}

// A special is a token that a configuration names: its text, or an object that
// has it.
type special string

// UnmarshalJSON implements json.Unmarshaler.
func (s *special) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(s))
	}
	var token struct{ Content string }
	err := json.Unmarshal(data, &token)
	*s = special(token.Content)
	return err
}

// or returns the token, or if there is none the one that is the default.
func (s special) or(token string) string {
	if s == "" {
		return token
	}
	return string(s)
}

// added returns the added tokens of a vocabulary: those that the configuration
// lists, and those special ones that the vocabulary has.
func (c *Config) added(v vocab, specials ...string) ([]addedToken, error) {
	var list []addedToken
	seen := map[string]bool{"": true}
	for id, a := range c.Added {
		var err error
		if a.ID, err = strconv.Atoi(id); err != nil {
			return nil, fmt.Errorf("added_tokens_decoder: got the key %q, want an id", id)
		}
		list = append(list, a)
		seen[a.Content] = true
	}
	for i, token := range specials {
		if id, ok := v[token]; ok && !seen[token] {
			// The last one is the mask, which takes up the space before it.
			list = append(list, addedToken{ID: id, Content: token, Special: true, LStrip: i == len(specials)-1 && c.isRoberta()})
			seen[token] = true
		}
	}
	return list, nil
}

// isRoberta reports whether texts stand between tokens as those of RoBERTa do.
func (c *Config) isRoberta() bool {
	for _, name := range []string{"Roberta", "Bart", "Longformer", "LED", "Blenderbot"} {
		if strings.HasPrefix(c.Class, name) {
			return true
		}
	}
	return false
}

// isCLIP reports whether words are cut as those of CLIP are.
func (c *Config) isCLIP() bool { return strings.HasPrefix(c.Class, "CLIP") }

// between is a post-processor.
func between(kind string, v vocab, cls, sep string) object {
	return object{"type": kind, "cls": []any{cls, v[cls]}, "sep": []any{sep, v[sep]}}
}

// ParseVocab returns the tokenizer of a vocab.txt, as those of BERT are: a token
// on each line, and its number is that of the line, from 0.
func ParseVocab(data []byte, c *Config) (*Tokenizer, error) {
	v := vocab{}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for id, line := range lines {
		token := strings.TrimRight(line, " \t\r")
		if old, ok := v[token]; ok && token != "" {
			return nil, fmt.Errorf("line %d: got the token %q, which line %d has", id+1, token, old+1)
		}
		v[token] = id
	}
	delete(v, "")
	unknown, cls, sep := c.Unknown.or("[UNK]"), c.Cls.or("[CLS]"), c.Sep.or("[SEP]")
	added, err := c.added(v, c.Pad.or("[PAD]"), unknown, cls, sep, c.Mask.or("[MASK]"))
	if err != nil {
		return nil, err
	}
	f := &file{
		Added: added,
		Normalizer: raw(object{
			"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": c.Chinese == nil || *c.Chinese,
			"strip_accents": c.Accents, "lowercase": c.Lower == nil || *c.Lower,
		}),
		PreTokenizer: raw(object{"type": "BertPreTokenizer"}),
		Decoder:      raw(object{"type": "WordPiece"}),
		Model:        raw(object{"type": "WordPiece", "vocab": v, "unk_token": unknown}),
	}
	for _, token := range []string{unknown, cls, sep} {
		if _, ok := v[token]; !ok {
			return nil, fmt.Errorf("got no token %q, want a vocabulary of BERT, with a token on each line", token)
		}
	}
	f.PostProcessor = raw(between("BertProcessing", v, cls, sep))
	return f.tokenizer()
}

// clipPattern cuts words as CLIP does.
const clipPattern = `<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`

// ParseMerges returns the tokenizer of a vocab.json and a merges.txt, as those of
// GPT-2, RoBERTa and CLIP are: tokens with their numbers, and on each line two
// that are merged.
func ParseMerges(vocabulary, merges []byte, c *Config) (*Tokenizer, error) {
	var v vocab
	if !json.Valid(vocabulary) {
		return nil, errors.New("vocab.json: got no JSON")
	}
	if err := json.Unmarshal(vocabulary, &v); err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	lines := []string{}
	for i, line := range strings.Split(string(merges), "\n") {
		line = strings.TrimRight(line, "\r")
		if line == "" || i == 0 && strings.HasPrefix(line, "#version") {
			continue
		}
		lines = append(lines, line)
	}
	end := "<|endoftext|>"
	model := object{"type": "BPE", "vocab": v, "merges": lines}
	f := &file{PreTokenizer: raw(object{"type": "ByteLevel", "add_prefix_space": c.Prefix}), Decoder: raw(object{"type": "ByteLevel"})}
	specials := []string{c.Unknown.or(end), c.Bos.or(end), c.Eos.or(end), string(c.Pad), string(c.Mask)}
	var frame object
	switch {
	case c.isRoberta():
		cls, sep := c.Cls.or("<s>"), c.Sep.or("</s>")
		specials = []string{cls, sep, c.Pad.or("<pad>"), c.Unknown.or("<unk>"), c.Mask.or("<mask>")}
		frame = between("RobertaProcessing", v, cls, sep)
	case c.isCLIP():
		begin := c.Bos.or("<|startoftext|>")
		end = c.Eos.or(end)
		specials = []string{begin, end, c.Unknown.or(end), string(c.Pad)}
		frame = between("RobertaProcessing", v, begin, end)
		model["end_of_word_suffix"], model["unk_token"] = "</w>", c.Unknown.or(end)
		f.Normalizer = raw(object{"type": "Sequence", "normalizers": []object{
			{"type": "NFC"}, {"type": "Replace", "pattern": object{"Regex": `\s+`}, "content": " "}, {"type": "Lowercase"},
		}})
		f.PreTokenizer = raw(object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"Regex": clipPattern}, "behavior": "Removed", "invert": true},
			{"type": "ByteLevel", "add_prefix_space": false},
		}})
	}
	f.Model = raw(model)
	var err error
	if f.Added, err = c.added(v, specials...); err != nil {
		return nil, err
	}
	if frame != nil {
		for _, name := range []string{"cls", "sep"} {
			token := frame[name].([]any)[0].(string)
			if _, ok := v[token]; !ok {
				return nil, fmt.Errorf("vocab.json: got no token %q, which %s puts around a text", token, c.Class)
			}
		}
		f.PostProcessor = raw(frame)
	}
	return f.tokenizer()
}
