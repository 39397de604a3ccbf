package tokenizer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Types of the pieces of a SentencePiece model (sentencepiece_model.proto).
const (
	pieceNormal      = 1
	pieceUnknown     = 2
	pieceControl     = 3
	pieceUserDefined = 4
	pieceUnused      = 5
	pieceByte        = 6
)

// A spPiece is a token of a SentencePiece model.
type spPiece struct {
	text  string
	score float64
	kind  uint64
}

// An spModel is what a tokenizer.model of SentencePiece holds, as far as it is
// used; the numbers in comments are those of the fields.
type spModel struct {
	pieces       []spPiece // 1
	bpe          bool      // 2.3: 1 is Unigram, 2 BPE
	byteFallback bool      // 2.35
	charsMap     []byte    // 3.2
	prefix       bool      // 3.3, add_dummy_prefix
	extraSpaces  bool      // 3.4, remove_extra_whitespaces
	escape       bool      // 3.5, escape_whitespaces
	suffix       bool      // 2.24, treat_whitespace_as_suffix
}

// fields calls f for each field of a message in Protocol Buffers' encoding: with
// the number of a varint or fixed one, with the bytes of others.
func fields(data []byte, f func(field int, number uint64, bytes []byte) error) error {
	bad := errors.New("got bytes that are no message of Protocol Buffers")
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29 {
			return bad
		}
		data = data[n:]
		var number uint64
		var bytes []byte
		switch key & 7 {
		case 0:
			if number, n = binary.Uvarint(data); n <= 0 {
				return bad
			}
			data = data[n:]
		case 1:
			if len(data) < 8 {
				return bad
			}
			number, data = binary.LittleEndian.Uint64(data), data[8:]
		case 2:
			size, n := binary.Uvarint(data)
			if n <= 0 || size > uint64(len(data)-n) {
				return bad
			}
			bytes, data = data[n:n+int(size)], data[n+int(size):]
		case 5:
			if len(data) < 4 {
				return bad
			}
			number, data = uint64(binary.LittleEndian.Uint32(data)), data[4:]
		default:
			return bad
		}
		if err := f(int(key>>3), number, bytes); err != nil {
			return err
		}
	}
	return nil
}

// readSentencePiece reads a model.
func readSentencePiece(data []byte) (*spModel, error) {
	m := &spModel{prefix: true, extraSpaces: true, escape: true}
	kind := uint64(1)
	trainer := func(field int, number uint64, _ []byte) error {
		switch field {
		case 3:
			kind = number
		case 24:
			m.suffix = number != 0
		case 35:
			m.byteFallback = number != 0
		}
		return nil
	}
	normalizer := func(field int, number uint64, bytes []byte) error {
		switch field {
		case 2:
			m.charsMap = bytes
		case 3:
			m.prefix = number != 0
		case 4:
			m.extraSpaces = number != 0
		case 5:
			m.escape = number != 0
		}
		return nil
	}
	err := fields(data, func(field int, _ uint64, bytes []byte) error {
		switch field {
		case 1:
			p := spPiece{kind: pieceNormal}
			m.pieces = append(m.pieces, p)
			return m.pieces[len(m.pieces)-1].read(bytes)
		case 2:
			return fields(bytes, trainer)
		case 3:
			return fields(bytes, normalizer)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.bpe = kind == 2
	switch {
	case len(m.pieces) == 0:
		return nil, errors.New("got no pieces, want a model of SentencePiece")
	case kind != 1 && kind != 2:
		return nil, fmt.Errorf("trainer_spec.model_type: got %d, want 1 (Unigram) or 2 (BPE)", kind)
	case m.suffix:
		return nil, errors.New("trainer_spec.treat_whitespace_as_suffix: got true, want false")
	case !m.escape:
		return nil, errors.New("normalizer_spec.escape_whitespaces: got false, want true")
	}
	return m, nil
}

func (p *spPiece) read(data []byte) error {
	err := fields(data, func(field int, number uint64, bytes []byte) error {
		switch field {
		case 1:
			p.text = string(bytes)
		case 2:
			p.score = float64(math.Float32frombits(uint32(number)))
		case 3:
			p.kind = number
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !utf8.ValidString(p.text) || p.text == "":
		return fmt.Errorf("got the piece %q, want text", p.text)
	case math.IsNaN(p.score):
		return fmt.Errorf("got the piece %q with a score that is no number", p.text)
	case len(p.text) > maxPiece:
		return fmt.Errorf("got a piece of %d bytes, want at most %d", len(p.text), maxPiece)
	case p.kind == pieceUnused:
		return fmt.Errorf("got the unused piece %q, want pieces that are used", p.text)
	}
	return nil
}

// object is a part of a file in JSON.
type object = map[string]any

// marker stands for a space in SentencePiece's pieces.
const marker = "▁"

// ParseSentencePiece returns the tokenizer of a tokenizer.model, as SentencePiece
// writes them (github.com/google/sentencepiece). A text is not put between
// tokens: a model does not say which.
func ParseSentencePiece(data []byte) (*Tokenizer, error) {
	m, err := readSentencePiece(data)
	if err != nil {
		return nil, err
	}
	f := &file{Model: raw(m.model()), Normalizer: raw(m.normalizer()), Decoder: raw(m.decoder())}
	for id, p := range m.pieces {
		if p.kind == pieceControl || p.kind == pieceUnknown {
			f.Added = append(f.Added, addedToken{ID: id, Content: p.text, Special: true})
		}
	}
	t, err := f.tokenizer()
	if err != nil {
		return nil, err
	}
	if len(m.charsMap) > 0 {
		table, err := newCharsMap(m.charsMap)
		if err != nil {
			return nil, fmt.Errorf("normalizer_spec.precompiled_charsmap: %w", err)
		}
		t.normalizers = slices.Insert(t.normalizers, 0, whole(table.applyLongest))
	}
	for id, p := range m.pieces {
		if p.kind == pieceUserDefined { // these do not begin a text, as others do
			t.added.normalized.add(addedToken{ID: id, Content: strings.ReplaceAll(p.text, " ", marker)})
		}
	}
	t.added.normalized.sort()
	if m.bpe {
		t.model.(*bpe).merges = m.merges()
	}
	return t, nil
}

func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil { // what is made here can be written
		panic(err)
	}
	return data
}

// normalizer is what SentencePiece does to text behind its table: spaces, and the
// marker.
func (m *spModel) normalizer() object {
	var steps []object
	if m.extraSpaces {
		steps = append(steps, object{"type": "Replace", "pattern": object{"Regex": `\A +| +\z|(?<= ) +`}, "content": ""})
	}
	if m.prefix {
		steps = append(steps, object{"type": "Prepend", "prepend": marker})
	}
	steps = append(steps, object{"type": "Replace", "pattern": object{"String": " "}, "content": marker})
	return object{"type": "Sequence", "normalizers": steps}
}

func (m *spModel) decoder() object {
	steps := []object{
		{"type": "Replace", "pattern": object{"String": marker}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
	}
	spaces := 0 // at the beginning, that were not in the text
	switch {
	case m.extraSpaces:
		spaces = math.MaxInt32
	case m.prefix:
		spaces = 1
	}
	steps = append(steps, object{"type": "Strip", "content": " ", "start": spaces, "stop": 0})
	return object{"type": "Sequence", "decoders": steps}
}

// model is the model with its pieces.
func (m *spModel) model() object {
	unknown := -1
	for id, p := range m.pieces {
		if p.kind == pieceUnknown && unknown < 0 {
			unknown = id
		}
	}
	if m.bpe {
		vocab := make(map[string]int, len(m.pieces))
		for id, p := range m.pieces {
			vocab[p.text] = id
		}
		out := object{"type": "BPE", "vocab": vocab, "fuse_unk": true, "byte_fallback": m.byteFallback}
		if unknown >= 0 {
			out["unk_token"] = m.pieces[unknown].text
		}
		return out
	}
	vocab := make([][2]any, len(m.pieces))
	for id, p := range m.pieces {
		vocab[id] = [2]any{p.text, p.score}
	}
	out := object{"type": "Unigram", "vocab": vocab, "byte_fallback": m.byteFallback}
	if unknown >= 0 {
		out["unk_id"] = unknown
	}
	return out
}

// maxPiece bounds the bytes of a piece of a BPE.
const maxPiece = 512

// merges are all ways to make a piece of two: those of the greatest score come
// first, and of equal ones the leftmost.
func (m *spModel) merges() *mergeTable {
	ids := make(map[string]int, len(m.pieces))
	var scores []float64
	ways := 0
	for id, p := range m.pieces {
		if p.kind == pieceNormal || p.kind == pieceUserDefined {
			ids[p.text] = id
			scores = append(scores, p.score)
			ways += len(p.text)
		}
	}
	slices.Sort(scores)
	scores = slices.Compact(scores)
	table := newMergeTable(ways)
	for text, id := range ids {
		at, _ := slices.BinarySearch(scores, m.pieces[id].score)
		for i := range text {
			left, hasLeft := ids[text[:i]]
			right, hasRight := ids[text[i:]]
			if hasLeft && hasRight {
				table.add(left, right, mergedToken{int32(len(scores) - at), int32(id)})
			}
		}
	}
	return table
}
