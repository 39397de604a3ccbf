package tokenizer

import "encoding/json"

// addFrame takes over the tokens that a text is put between.
func (t *Tokenizer) addFrame(p part) error {
	switch p.kind {
	case "ByteLevel": // changes where tokens are said to be, and no token
		return nil
	case "BertProcessing", "RobertaProcessing":
		return t.addPair(p)
	case "TemplateProcessing":
		return t.addTemplate(p)
	}
	return p.unknown("BertProcessing", "ByteLevel", "RobertaProcessing", "TemplateProcessing", "Sequence")
}

// A namedID is a token and its number, ["[SEP]", 102].
type namedID struct {
	token string
	id    int
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *namedID) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&n.token, &n.id})
}

// addPair takes over a token that begins a text and one that ends it.
func (t *Tokenizer) addPair(p part) error {
	s := struct{ Cls, Sep namedID }{namedID{"", -1}, namedID{"", -1}}
	if err := p.read(&s); err != nil {
		return err
	}
	for i, n := range []namedID{s.Cls, s.Sep} {
		if _, ok := t.names.get(n.id); !ok {
			return p.errorf("%s: got the id %d for %q, want that of a token", []string{"cls", "sep"}[i], n.id, n.token)
		}
	}
	return t.surround(p, []int{s.Cls.id}, []int{s.Sep.id})
}

// surround puts tokens around those that are there. What a template has made is refused:
// Tokenizers would take each of its tokens for a text.
func (t *Tokenizer) surround(p part, before, after []int) error {
	if t.templated {
		return p.errorf("got a part that adds tokens behind a TemplateProcessing, want it before")
	}
	t.before, t.after = append(before, t.before...), append(t.after, after...)
	return nil
}

func (t *Tokenizer) addTemplate(p part) error {
	var s struct {
		Single  []map[string]struct{ ID string }
		Special map[string]struct{ IDs []int } `json:"special_tokens"`
	}
	if err := p.read(&s); err != nil {
		return err
	}
	var around [2][]int
	texts := 0
	for _, piece := range s.Single {
		if _, ok := piece["Sequence"]; ok {
			texts++
			continue
		}
		name := piece["SpecialToken"].ID
		special, ok := s.Special[name]
		if !ok {
			return p.errorf("got the special token %q in single, want one of special_tokens", name)
		}
		for _, id := range special.IDs {
			if _, ok := t.names.get(id); !ok {
				return p.errorf("got the id %d for %q, want that of a token", id, name)
			}
		}
		around[min(texts, 1)] = append(around[min(texts, 1)], special.IDs...)
	}
	if texts != 1 {
		return p.errorf("got a template with the text in it %d times, want once", texts)
	}
	err := t.surround(p, around[0], around[1])
	t.templated = true
	return err
}
