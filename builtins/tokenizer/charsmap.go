package tokenizer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A charsMap is the table by which SentencePiece replaces characters: a trie of
// what is replaced, as a double array, and the texts that replace it, each ended
// by a zero byte (github.com/google/sentencepiece, src/normalizer.cc; the array
// is that of github.com/s-yata/darts-clone).
type charsMap struct {
	trie  []uint32
	texts string
}

// newCharsMap reads a table: the size of the trie in bytes, the trie, the texts;
// numbers are of 4 bytes, the least first.
func newCharsMap(data []byte) (*charsMap, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("got %d bytes, want a table", len(data))
	}
	size := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if uint64(size) > uint64(len(data)) || size == 0 {
		return nil, fmt.Errorf("got a trie of %d bytes in %d, want some that are there", size, len(data))
	}
	m := &charsMap{trie: make([]uint32, size/4), texts: string(data[size:])}
	for i := range m.trie {
		m.trie[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if !utf8.ValidString(m.texts) {
		return nil, errors.New("got texts that are no UTF-8")
	}
	return m, nil
}

// find calls f for each beginning of s that the table has, the shortest first,
// with its size and the text for it, until f returns false.
func (m *charsMap) find(s string, f func(size int, text string) bool) {
	unit := func(i uint32) uint32 {
		if int64(i) >= int64(len(m.trie)) {
			return 1 << 31 // no label is this
		}
		return m.trie[i]
	}
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	at := offset(unit(0))
	for i := 0; i < len(s) && s[i] != 0; i++ {
		at ^= uint32(s[i])
		u := unit(at)
		if u&(1<<31|0xff) != uint32(s[i]) {
			return
		}
		at ^= offset(u)
		if u>>8&1 == 0 {
			continue
		}
		from := int64(unit(at) &^ (1 << 31))
		if from > int64(len(m.texts)) {
			return
		}
		text := m.texts[from:]
		if end := strings.IndexByte(text, 0); end >= 0 {
			text = text[:end]
		}
		if !f(i+1, text) {
			return
		}
	}
}

// shortest returns the text for the shortest beginning of s that the table has;
// ok is false if it has none.
func (m *charsMap) shortest(s string) (text string, ok bool) {
	m.find(s, func(_ int, found string) bool {
		text, ok = found, true
		return false
	})
	return text, ok
}

// applyLongest returns s with the longest parts replaced that the table has, from
// the left, as SentencePiece does.
func (m *charsMap) applyLongest(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		text := s[i : i+size]
		m.find(s[i:], func(n int, found string) bool {
			size, text = n, found
			return true
		})
		b.WriteString(text)
		i += size
	}
	return b.String()
}

// maxCluster bounds the bytes of a character with its marks that the table is
// asked for as one.
const maxCluster = 6

// apply returns s with each character replaced that the table has: first with
// its marks, if that is short, then alone. So does Tokenizers.
func (m *charsMap) apply(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		n := cluster(s[i:])
		if n < maxCluster {
			if text, ok := m.shortest(s[i : i+n]); ok {
				b.WriteString(text)
				i += n
				continue
			}
		}
		for end := i + n; i < end; {
			_, size := utf8.DecodeRuneInString(s[i:])
			if text, ok := m.shortest(s[i : i+size]); ok {
				b.WriteString(text)
			} else {
				b.WriteString(s[i : i+size])
			}
			i += size
		}
	}
	return b.String()
}

// cluster returns the size of the extended grapheme cluster that s begins with
// (UAX #29), or one that is maxCluster or more if it is as long as that. Rules
// for clusters that are never shorter are left out: flags, syllables of Korean
// and conjuncts of Indian scripts are taken apart, which gives the same here.
func cluster(s string) int {
	first, n := utf8.DecodeRuneInString(s)
	if n == len(s) || n == 1 && s[1] < utf8.RuneSelf && s[0] != '\r' {
		return n
	}
	if first == '\r' && s[n] == '\n' {
		return n + 1
	}
	if control(first) {
		return n
	}
	prepended := prepends(first)
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if control(r) || !prepended && !extends(r) {
			break
		}
		prepended = prepended && prepends(r)
		n += size
	}
	return n
}

// control reports whether r stands apart from all others.
func control(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Cf, r) && r != 0x200C && r != 0x200D && !prepends(r)
}

// extends reports whether r belongs to what stands before it.
func extends(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case r == 0x0E33 || r == 0x0EB3 || r == 0x200D || 0x1F3FB <= r && r <= 0x1F3FF:
		return true
	case r == 0x102B || r == 0x102C || r == 0x1038 || 0x1062 <= r && r <= 0x1064 || 0x1067 <= r && r <= 0x106D || r == 0x1083 ||
		0x1087 <= r && r <= 0x108C || r == 0x108F || 0x109A <= r && r <= 0x109C || r == 0x1A61 || r == 0x1A63 || r == 0x1A64 ||
		r == 0xAA7B || r == 0xAA7D || r == 0x11720 || r == 0x11721:
		return false // marks that take up space and stand alone
	}
	return unicode.In(r, unicode.M, unicode.Other_Grapheme_Extend)
}

// prepends reports whether r belongs to what stands behind it.
func prepends(r rune) bool {
	if r < 0x600 {
		return false
	}
	switch r {
	case 0x0D4E, 0x111C2, 0x111C3, 0x1193F, 0x11941, 0x11A3A, 0x11A84, 0x11A85, 0x11A86, 0x11A87, 0x11A88, 0x11A89, 0x11D46, 0x11F02:
		return true
	}
	return unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}
