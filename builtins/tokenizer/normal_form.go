package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMarks is how many combining characters norm may see in a row: behind some
// more it would insert U+034F, as the Unicode Standard has it for streams (UAX
// #15, section 13).
const maxMarks = 8

// normalForm returns s in a normal form of Unicode.
func normalForm(f norm.Form, s string) string {
	if ascii(s) || f.IsNormalString(s) {
		return s
	}
	marks := 0
	for i := 0; i < len(s); {
		p := f.PropertiesString(s[i:])
		if p.LeadCCC() == 0 && p.TrailCCC() == 0 {
			marks = 0
		} else if marks++; marks > maxMarks {
			return longForm(f, s)
		}
		i += max(1, p.Size())
	}
	return f.String(s)
}

// longForm is normalForm for text with any number of combining characters in a
// row, by the definition: decompose, order, compose.
func longForm(f norm.Form, s string) string {
	whole := norm.NFD
	if f == norm.NFKC || f == norm.NFKD {
		whole = norm.NFKD
	}
	var runes []rune
	for _, r := range s {
		runes = append(runes, []rune(whole.String(string(r)))...)
	}
	class := func(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }
	for lo := 0; lo < len(runes); {
		hi := lo + 1
		if class(runes[lo]) != 0 {
			for hi < len(runes) && class(runes[hi]) != 0 {
				hi++
			}
			slices.SortStableFunc(runes[lo:hi], func(a, b rune) int { return int(class(a)) - int(class(b)) })
		}
		lo = hi
	}
	if f == norm.NFC || f == norm.NFKC {
		runes = composed(runes, class)
	}
	return string(runes)
}

// composed puts characters that are ordered together again: each with the last
// one before it of class 0, unless one of its own class or of class 0 stands
// between (UAX #15, section 1.3).
func composed(runes []rune, class func(rune) uint8) []rune {
	var out []rune
	starter, last := -1, uint8(0)
	for _, r := range runes {
		c := class(r)
		if starter >= 0 && (len(out) == starter+1 || last != 0 && last < c) {
			if both := norm.NFC.String(string([]rune{out[starter], r})); utf8.RuneCountInString(both) == 1 {
				out[starter], _ = utf8.DecodeRuneInString(both)
				continue
			}
		}
		if last = c; c == 0 {
			starter = len(out)
		}
		out = append(out, r)
	}
	return out
}
