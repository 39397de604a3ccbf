package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// runeOf gives each byte the character that stands for it in a vocabulary.
// Printable characters of Latin-1 stand for their own bytes, and those from
// U+0100 on for the others in ascending order, as GPT-2 has it.
var runeOf = func() (table [256]rune) {
	next := rune(0x100)
	for b := range table {
		if '!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b {
			table[b] = rune(b)
			continue
		}
		table[b] = next
		next++
	}
	return table
}()

// byteOf is the inverse of runeOf.
var byteOf = func() map[rune]byte {
	table := make(map[rune]byte, len(runeOf))
	for b, r := range runeOf {
		table[r] = byte(b)
	}
	return table
}()

// bytesOf returns the bytes that the characters of a token stand for; ok is
// false if one stands for none.
func bytesOf(token string) (s string, ok bool) {
	var out strings.Builder
	for _, r := range token {
		b, ok := byteOf[r]
		if !ok {
			return "", false
		}
		out.WriteByte(b)
	}
	return out.String(), true
}

// runesOf returns the characters that stand for the bytes of s.
func runesOf(s string) string {
	var out strings.Builder
	for i := range len(s) {
		out.WriteRune(runeOf[s[i]])
	}
	return out.String()
}

// valid returns s with U+FFFD in the place of what is not UTF-8: one for each
// longest beginning of a character that breaks off, as the Unicode Standard
// recommends (chapter 3.9).
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = broken(s)
		}
		out.WriteRune(r)
		s = s[n:]
	}
	return out.String()
}

// broken returns the length of the beginning of a character that s, which does
// not begin with a whole one, begins with: 1 if with none.
func broken(s string) int {
	n := 1
	for n < len(s) && n < utf8.UTFMax && !utf8.FullRuneInString(s[:n]) {
		n++
	}
	if n > 1 && utf8.FullRuneInString(s[:n]) {
		n-- // the last byte is what breaks it off
	}
	return n
}
