package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A decoder changes the texts of tokens, of which at the end one is made.
type decoder func(list []string) ([]string, error)

// decoderTypes are the types of decoders, and what makes them.
var decoderTypes = map[string]func(part) (decoder, error){
	"BPEDecoder":   bpeDecoder,
	"ByteFallback": func(part) (decoder, error) { return decodeFallback, nil },
	"ByteLevel":    func(part) (decoder, error) { return decodeBytes, nil },
	"CTC":          ctcDecoder,
	"Fuse":         func(part) (decoder, error) { return fuse, nil },
	"Metaspace":    metaspaceDecoder,
	"Replace":      replaceDecoder,
	"Strip":        stripDecoder,
	"WordPiece":    wordPieceDecoder,
}

func (t *Tokenizer) addDecoder(p part) error {
	make, ok := decoderTypes[p.kind]
	if !ok {
		return p.unknown(append(keysOf(decoderTypes), "Sequence")...)
	}
	d, err := make(p)
	t.decoders = append(t.decoders, d)
	return err
}

// forEach returns the decoder that changes each text by itself; i is its place.
func forEach(f func(i int, s string) string) decoder {
	return func(list []string) ([]string, error) {
		for i, s := range list {
			list[i] = f(i, s)
		}
		return list, nil
	}
}

func fuse(list []string) ([]string, error) { return []string{strings.Join(list, "")}, nil }

// decodeBytes puts bytes in the place of the characters that stand for them.
func decodeBytes(list []string) ([]string, error) {
	var out strings.Builder
	for _, s := range list {
		if b, ok := bytesOf(s); ok {
			out.WriteString(b)
		} else {
			out.WriteString(s)
		}
	}
	return []string{valid(out.String())}, nil
}

// decodeFallback puts characters in the place of tokens such as <0xC3>. Bytes in
// a row that are no UTF-8 are U+FFFD, a text for each.
func decodeFallback(list []string) ([]string, error) {
	var out []string
	var run []byte
	flush := func() {
		switch {
		case len(run) == 0:
		case utf8.Valid(run):
			out = append(out, string(run))
		default:
			for range run {
				out = append(out, "\uFFFD")
			}
		}
		run = run[:0]
	}
	for _, s := range list {
		if len(s) == 6 && strings.HasPrefix(s, "<0x") && s[5] == '>' {
			if b, err := strconv.ParseUint(s[3:5], 16, 8); err == nil {
				run = append(run, byte(b))
				continue
			}
		}
		flush()
		out = append(out, s)
	}
	flush()
	return out, nil
}

func bpeDecoder(p part) (decoder, error) {
	s := struct{ Suffix string }{"</w>"}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	return func(list []string) ([]string, error) {
		for i, text := range list {
			end := " "
			if i == len(list)-1 {
				end = ""
			}
			list[i] = strings.ReplaceAll(text, s.Suffix, end)
		}
		return list, nil
	}, nil
}

func metaspaceDecoder(p part) (decoder, error) {
	m, err := newMetaspace(p)
	if err != nil {
		return nil, err
	}
	return forEach(func(i int, s string) string {
		if i == 0 && m.Scheme != prependNever {
			return strings.ReplaceAll(s, m.Replacement, "")
		}
		return strings.ReplaceAll(s, m.Replacement, " ")
	}), nil
}

func replaceDecoder(p part) (decoder, error) {
	r, err := newReplacer(p)
	if err != nil {
		return nil, err
	}
	return func(list []string) ([]string, error) {
		for i, s := range list {
			var err error
			if list[i], _, err = r.replace(s); err != nil {
				return nil, err
			}
		}
		return list, nil
	}, nil
}

func stripDecoder(p part) (decoder, error) {
	var s struct {
		Content     string
		Start, Stop int
	}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	if _, err := p.char("content", s.Content); err != nil {
		return nil, err
	}
	return forEach(func(_ int, text string) string {
		for i := 0; i < s.Start && strings.HasPrefix(text, s.Content); i++ {
			text = text[len(s.Content):]
		}
		for i := 0; i < s.Stop && strings.HasSuffix(text, s.Content); i++ {
			text = text[:len(text)-len(s.Content)]
		}
		return text
	}), nil
}

// cleaner takes away the spaces that words of English have before them only
// because they are words.
var cleanups = []string{" .", ".", " ?", "?", " !", "!", " ,", ",", " ' ", "'", " n't", "n't", " 'm", "'m", " do not", " don't", " 's", "'s", " 've", "'ve", " 're", "'re"}

func cleaned(s string) string {
	for i := 0; i < len(cleanups) && strings.Contains(s, " "); i += 2 {
		s = strings.ReplaceAll(s, cleanups[i], cleanups[i+1])
	}
	return s
}

func wordPieceDecoder(p part) (decoder, error) {
	s := struct {
		Prefix  string
		Cleanup bool
	}{"##", true}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	return forEach(func(i int, text string) string {
		if i > 0 {
			if rest, ok := strings.CutPrefix(text, s.Prefix); ok {
				text = rest
			} else {
				text = " " + text
			}
		}
		if s.Cleanup {
			text = cleaned(text)
		}
		return text
	}), nil
}

func ctcDecoder(p part) (decoder, error) {
	s := struct {
		Pad     string `json:"pad_token"`
		Word    string `json:"word_delimiter_token"`
		Cleanup bool
	}{"<pad>", "|", true}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	return func(list []string) ([]string, error) {
		var out []string
		for i, text := range list {
			if i > 0 && text == list[i-1] {
				continue
			}
			text = strings.ReplaceAll(text, s.Pad, "")
			if s.Cleanup {
				text = strings.ReplaceAll(cleaned(text), s.Word, " ")
			}
			if text != "" {
				out = append(out, text)
			}
		}
		return out, nil
	}, nil
}
