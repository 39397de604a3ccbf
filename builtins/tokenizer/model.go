package tokenizer

import "encoding/json"

// setModel takes over the model. Old files do not name its type.
func (t *Tokenizer) setModel(p part) error {
	set, ok := map[string]func(part) error{
		"BPE": t.setBPE, "WordPiece": t.setWordPiece, "Unigram": t.setUnigram, "WordLevel": t.setWordLevel,
	}[p.modelType()]
	if !ok {
		return p.unknown("BPE", "WordPiece", "Unigram", "WordLevel")
	}
	return set(p)
}

// modelType returns the type of a model: the one that is named, or the one that
// its fields are of.
func (p part) modelType() string {
	var s struct {
		Merges  json.RawMessage
		Unknown json.RawMessage `json:"unk_id"`
		Most    json.RawMessage `json:"max_input_chars_per_word"`
		Vocab   json.RawMessage
	}
	if p.kind != "" || json.Unmarshal(p.raw, &s) != nil {
		return p.kind
	}
	switch {
	case s.Merges != nil:
		return "BPE"
	case s.Most != nil:
		return "WordPiece"
	case s.Unknown != nil:
		return "Unigram"
	case s.Vocab != nil:
		return "WordLevel"
	}
	return ""
}
