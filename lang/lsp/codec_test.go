package lsp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func FuzzReadMessage(f *testing.F) {
	for _, seed := range []string{"Content-Length: 2\r\n\r\n{}", "content-length:0\n\n", "Content-Length: -1\r\n\r\n", "Content-Length: 99999999999\r\n\r\n{}", "Content-Type: x\r\nContent-Length: 4\r\n\r\nnull", "\r\n", strings.Repeat("a", 5000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		data, err := readMessage(bufio.NewReader(bytes.NewReader(in)))
		if err != nil {
			return
		}
		// What is read is written back the same.
		again, err := readMessage(bufio.NewReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(data), data))))
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("written back: got %q and %v, want %q", again, err, data)
		}
	})
}

// Messages stand one behind the other: what is wrong in one does not reach the next.
func TestMessagesStandAlone(t *testing.T) {
	r := bufio.NewReader(strings.NewReader("Content-Length: 5\r\n\r\n{} {}Content-Length: 2\r\n\r\n[]"))
	var v any
	if err := (codec{}).ReadObject(r, &v); err == nil {
		t.Error("two values in a message: got no error")
	}
	if err := (codec{}).ReadObject(r, &v); err != nil {
		t.Errorf("the message behind it: %v", err)
	}
	if err := (codec{}).ReadObject(r, &v); err != io.EOF {
		t.Errorf("the end: got %v, want EOF", err)
	}
}

// Positions in UTF-16 units, offsets, and lines and columns of trees are the same
// places; a change by ranges gives what one of the whole text does.
func TestPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOf(rapid.SampledFrom([]rune("aä\U0001F600\n\r x"))).Draw(t, "text")
		body := string(runes)
		text := newText(body)
		n := rapid.IntRange(0, len(runes)).Draw(t, "at")
		offset := len(string(runes[:n]))
		p := text.position(offset)
		if offset > 0 && body[offset-1] == '\r' {
			return // inside what may be the end of a line
		}
		if got := text.offset(p); got != offset {
			t.Fatalf("%q: position %v of %d is offset %d", body, p, offset, got)
		}
		line, col := text.toTree(p)
		if got := text.ofTree(line, col); got != p {
			t.Fatalf("%q: %d:%d of %v is %v", body, line, col, p, got)
		}
		end := len(string(runes[:rapid.IntRange(n, len(runes)).Draw(t, "end")]))
		if end > 0 && body[end-1] == '\r' {
			return
		}
		with := rapid.StringOf(rapid.SampledFrom([]rune("b\n\U0001F600"))).Draw(t, "with")
		if got := text.apply(change{Range: &span{p, text.position(end)}, Text: with}).body; got != body[:offset]+with+body[end:] {
			t.Fatalf("%q: %d to %d with %q gives %q", body, offset, end, with, got)
		}
	})
}
