package bpe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A splitter cuts each of some pieces of text further.
type splitter func(pieces []string) []string

// A splitSpec is a pre-tokenizer as a file describes it.
type splitSpec struct {
	Type          string
	Pretokenizers []json.RawMessage
	Pattern       struct{ Regex, String *string }
	Behavior      string
	Invert        bool
	Individual    bool  `json:"individual_digits"`
	PrefixSpace   *bool `json:"add_prefix_space"`
	UseRegex      *bool `json:"use_regex"`
}

// maxNesting bounds how deep a Sequence may lie in others.
const maxNesting = 8

// A pretokenizer is the steps that cut text into words.
type pretokenizer struct {
	steps     []splitter
	byteLevel bool
}

// add adds the steps that raw describes, depth Sequences deep.
func (p *pretokenizer) add(raw json.RawMessage, depth int) error {
	var s splitSpec
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("pre_tokenizer: %w", err)
	}
	switch s.Type {
	case "Sequence":
		if depth == maxNesting {
			return fmt.Errorf("pre_tokenizer: got Sequences %d deep, want at most %d", depth+1, maxNesting)
		}
		for _, each := range s.Pretokenizers {
			if err := p.add(each, depth+1); err != nil {
				return err
			}
		}
		return nil
	case "ByteLevel":
		return p.addByteLevel(&s)
	case "Digits":
		digits, err := compile(map[bool]string{true: `\p{N}`, false: `\p{N}+`}[s.Individual])
		p.steps = append(p.steps, cutter(digits, joinNone, false))
		return err
	case "Split":
		return p.addSplit(&s)
	}
	return fmt.Errorf("pre_tokenizer: got %q, want ByteLevel, Split, Digits or a Sequence of them", s.Type)
}

func (p *pretokenizer) addByteLevel(s *splitSpec) error {
	p.byteLevel = true
	if s.PrefixSpace == nil || *s.PrefixSpace {
		p.steps = append(p.steps, prefixSpace)
	}
	if s.UseRegex != nil && !*s.UseRegex {
		return nil
	}
	words, err := compile(gpt2Pattern)
	p.steps = append(p.steps, cutter(words, joinNone, false))
	return err
}

func (p *pretokenizer) addSplit(s *splitSpec) error {
	expr := ""
	switch {
	case s.Pattern.Regex != nil:
		expr = *s.Pattern.Regex
	case s.Pattern.String != nil:
		expr = regexp.QuoteMeta(*s.Pattern.String)
	default:
		return fmt.Errorf("pre_tokenizer: Split: got no pattern, want a Regex or a String")
	}
	words, err := compile(expr)
	if err != nil {
		return fmt.Errorf("pre_tokenizer: Split: %w", err)
	}
	join, ok := joins[s.Behavior]
	if !ok {
		return fmt.Errorf("pre_tokenizer: Split: got the behavior %q, want Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous", s.Behavior)
	}
	p.steps = append(p.steps, cutter(words, join, s.Invert))
	return nil
}

// prefixSpace begins each piece with a space.
func prefixSpace(pieces []string) []string {
	out := make([]string, len(pieces))
	for i, s := range pieces {
		if !strings.HasPrefix(s, " ") {
			s = " " + s
		}
		out[i] = s
	}
	return out
}

// A join says what becomes of the spans of a piece: the texts it returns.
type join func([]span) []string

var joins = map[string]join{
	"Isolated":           joinNone,
	"Removed":            joinRemoved,
	"MergedWithPrevious": joinPrevious,
	"MergedWithNext":     joinNext,
	"Contiguous":         joinContiguous,
}

// cutter returns the splitter that cuts at the matches of p, or with invert at
// what lies between them.
func cutter(p *pattern, j join, invert bool) splitter {
	return func(pieces []string) []string {
		var out []string
		for _, s := range pieces {
			spans := p.spans(s)
			for i := range spans {
				spans[i].match = spans[i].match != invert
			}
			out = append(out, j(spans)...)
		}
		return out
	}
}

func joinNone(spans []span) []string {
	out := make([]string, len(spans))
	for i, s := range spans {
		out[i] = s.text
	}
	return out
}

func joinRemoved(spans []span) []string {
	var out []string
	for _, s := range spans {
		if !s.match {
			out = append(out, s.text)
		}
	}
	return out
}

// joinPrevious appends each match to the text before it, if that is no match.
func joinPrevious(spans []span) []string {
	return merged(spans, func(before, s span) bool { return s.match && !before.match })
}

// joinNext puts each match in front of the text behind it, if that is no match.
func joinNext(spans []span) []string {
	return merged(spans, func(before, s span) bool { return before.match && !s.match })
}

// joinContiguous makes one text of matches that touch.
func joinContiguous(spans []span) []string {
	return merged(spans, func(before, s span) bool { return before.match == s.match })
}

// merged returns the texts of spans, each appended to the one before it where
// with says so.
func merged(spans []span, with func(before, s span) bool) []string {
	var out []string
	for i, s := range spans {
		if i > 0 && with(spans[i-1], s) {
			out[len(out)-1] += s.text
			continue
		}
		out = append(out, s.text)
	}
	return out
}
