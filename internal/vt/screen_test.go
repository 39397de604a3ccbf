package vt

import (
	"fmt"
	"testing"
)

func TestScreen(t *testing.T) {
	tests := []struct {
		write, want string
		row, col    int
	}{
		{"ab\r\ncd", "ab\ncd", 1, 2},
		{"abcdefgh", "abcdef\ngh", 1, 2},
		{"abcdef\r\ng", "abcdef\ng", 1, 1},
		{"ab\rx", "xb", 0, 1},
		{"a\r\nb\r\nc\r\nd", "b\nc\nd", 2, 1},
		{"ab\r\ncd\x1b[1A\r\x1b[Jx", "x", 0, 1},
		{"abcd\x1b[2D\x1b[K", "ab", 0, 2},
		{"é\x1b[?2004hx\x1b[1mb", "éxb", 0, 3},
		{"abc\x1b[H\x1b[2Jx\x1b[1B\x1b[2Cy", "x\n   y", 1, 4},
	}
	for _, test := range tests {
		s := NewScreen(6, 3)
		for i := range len(test.write) { // a byte at a time
			fmt.Fprint(s, test.write[i:i+1])
		}
		row, col := s.Cursor()
		if got := s.String(); got != test.want || row != test.row || col != test.col {
			t.Errorf("%q: got %q, cursor %d,%d, want %q, %d,%d", test.write, got, row, col, test.want, test.row, test.col)
		}
	}
	s := NewScreen(3, 2)
	fmt.Fprint(s, "1\r\n2\r\n3")
	if got := s.All(); got != "1\n2\n3" {
		t.Errorf("with what has left the screen: got %q", got)
	}
}
