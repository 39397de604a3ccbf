package edit

import (
	"bufio"
	"strings"
)

// A kind is the action of a key.
type kind int

const (
	none kind = iota // a key without a meaning here
	letter
	enter
	tab
	paste
	interrupt
	suspend
	end // Ctrl-D
	backspace
	erase // the letter under the cursor
	eraseWord
	eraseWordAfter
	eraseBefore // to the start of the line
	eraseAfter  // to the end of the line
	yank        // inserts the text that was erased last
	left
	right
	up
	down
	wordLeft
	wordRight
	lineStart
	lineEnd
	older
	newer
	search
	redraw
	openLine // a new line, whatever Enter would do
)

// A key is one key that was typed, or one paste.
type key struct {
	kind kind
	r    rune   // of a letter
	text string // of a paste
}

// controls are the keys that are typed with Ctrl, and those that send such a byte.
var controls = map[rune]kind{
	1: lineStart, 2: left, 3: interrupt, 4: end, 5: lineEnd, 6: right, 8: backspace, 9: tab, 10: enter, 11: eraseAfter,
	12: redraw, 13: enter, 14: newer, 15: openLine, 16: older, 18: search, 21: eraseBefore, 23: eraseWord, 25: yank, 26: suspend, 127: backspace,
}

// sequences are the keys that send an escape and these bytes.
var sequences = map[string]kind{
	"[A": up, "[B": down, "[C": right, "[D": left, "[H": lineStart, "[F": lineEnd, "OA": up, "OB": down, "OC": right, "OD": left, "OH": lineStart, "OF": lineEnd,
	"[1~": lineStart, "[7~": lineStart, "[4~": lineEnd, "[8~": lineEnd, "[3~": erase,
	"[1;5C": wordRight, "[1;5D": wordLeft, "[1;3C": wordRight, "[1;3D": wordLeft, "[5C": wordRight, "[5D": wordLeft,
	"b": wordLeft, "f": wordRight, "d": eraseWordAfter, "\x7f": eraseWord, "\b": eraseWord, "\r": openLine, "\n": openLine,
}

const (
	pasteBegin = "[200~"
	pasteEnd   = "\x1b[201~"
)

// readKey reads one key. A sequence that is not known is a key without a meaning.
func readKey(in *bufio.Reader) (key, error) {
	r, _, err := in.ReadRune()
	switch {
	case err != nil:
		return key{}, err
	case r == '\x1b':
		return readSequence(in)
	case r < ' ' || r == 127:
		return key{kind: controls[r]}, nil
	}
	return key{kind: letter, r: r}, nil
}

// readSequence reads the sequence behind an escape: a letter, O and a letter, or [,
// numbers and a letter.
func readSequence(in *bufio.Reader) (key, error) {
	var seq strings.Builder
	for {
		r, _, err := in.ReadRune()
		if err != nil {
			return key{}, err
		}
		seq.WriteRune(r)
		if n := seq.Len(); n == 1 && (r == '[' || r == 'O') || n > 1 && n < 16 && r < '@' {
			continue
		}
		break
	}
	if seq.String() == pasteBegin {
		text, err := readPaste(in)
		return key{kind: paste, text: text}, err
	}
	return key{kind: sequences[seq.String()]}, nil
}

// maxPaste bounds a paste in bytes.
const maxPaste = 16 << 20

// readPaste reads up to the end of a paste.
func readPaste(in *bufio.Reader) (string, error) {
	var text []byte
	for {
		b, err := in.ReadByte()
		if err != nil {
			return "", err
		}
		if len(text) < maxPaste || b == pasteEnd[len(pasteEnd)-1] {
			text = append(text, b)
		}
		if before, ok := strings.CutSuffix(string(text[max(0, len(text)-len(pasteEnd)):]), pasteEnd); ok && before == "" {
			return plain(string(text[:len(text)-len(pasteEnd)])), nil
		}
	}
}

// plain returns a pasted text with newlines at the ends of lines, and without
// characters that would control the terminal.
func plain(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 127 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
