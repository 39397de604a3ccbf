package vt

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Screen is what stands on the screen of a terminal. Its methods may be called
// from several goroutines.
type Screen struct {
	mu            sync.Mutex
	width, height int
	rows          [][]rune
	row, col      int
	full          bool   // the last column is written: the next letter goes below
	pending       []byte // the beginning of a sequence or letter
	gone          []string
}

// NewScreen returns an empty screen.
func NewScreen(width, height int) *Screen {
	s := &Screen{width: width, height: height}
	for range height {
		s.rows = append(s.rows, blank(width))
	}
	return s
}

func blank(width int) []rune { return []rune(strings.Repeat(" ", width)) }

// String returns the rows up to the last that is not empty, without the spaces at
// their ends.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimRight(strings.Join(s.lines(), "\n"), "\n")
}

// All returns String with the rows that have left the screen above it.
func (s *Screen) All() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimRight(strings.Join(append(s.gone[:len(s.gone):len(s.gone)], s.lines()...), "\n"), "\n")
}

func (s *Screen) lines() []string {
	var lines []string
	for _, row := range s.rows {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return lines
}

// Cursor returns where the cursor stands, from 0.
func (s *Screen) Cursor() (row, col int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.row, s.col
}

// Write implements io.Writer.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, p...)
	for len(s.pending) > 0 {
		n := s.take(s.pending)
		if n == 0 {
			break
		}
		s.pending = s.pending[n:]
	}
	return len(p), nil
}

// take shows what p begins with and returns its length; 0 if there must be more.
func (s *Screen) take(p []byte) int {
	switch b := p[0]; {
	case b == '\x1b':
		return s.sequence(p)
	case b == '\r':
		s.col, s.full = 0, false
	case b == '\n':
		s.down()
	case b == '\b':
		s.col, s.full = max(0, s.col-1), false
	case b < ' ':
	default:
		if !utf8.FullRune(p) {
			return 0
		}
		r, n := utf8.DecodeRune(p)
		s.put(r)
		return n
	}
	return 1
}

func (s *Screen) put(r rune) {
	if s.full {
		s.col, s.full = 0, false
		s.down()
	}
	s.rows[s.row][s.col] = r
	if s.col++; s.col == s.width {
		s.col, s.full = s.width-1, true
	}
}

// down goes to the next row, and moves all up if there is none.
func (s *Screen) down() {
	if s.row++; s.row < s.height {
		return
	}
	s.row = s.height - 1
	s.gone = append(s.gone, strings.TrimRight(string(s.rows[0]), " "))
	s.rows = append(s.rows[1:], blank(s.width))
}

// sequence carries out a sequence of the form ESC [ numbers letter.
func (s *Screen) sequence(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	if p[1] == '=' || p[1] == '>' { // what keys of the keypad send
		return 2
	}
	if p[1] != '[' {
		panic(fmt.Sprintf("vt: unknown sequence %q", p[:2]))
	}
	end := 2
	for end < len(p) && p[end] < '@' {
		end++
	}
	if end == len(p) {
		return 0
	}
	s.control(string(p[2:end]), p[end])
	return end + 1
}

func (s *Screen) control(params string, letter byte) {
	n, err := strconv.Atoi(params)
	if err != nil || n == 0 {
		n = 1
	}
	s.full = false
	switch {
	case params != "" && params[0] == '?', letter == 'm': // modes, colors
	case letter == 'A':
		s.row = max(0, s.row-n)
	case letter == 'B':
		s.row = min(s.height-1, s.row+n)
	case letter == 'C':
		s.col = min(s.width-1, s.col+n)
	case letter == 'D':
		s.col = max(0, s.col-n)
	case letter == 'H' && params == "":
		s.row, s.col = 0, 0
	case letter == 'J' && params == "3": // what has gone above stays
	case letter == 'J' && params == "2":
		for i := range s.rows {
			s.rows[i] = blank(s.width)
		}
	case letter == 'J' && params == "":
		copy(s.rows[s.row][s.col:], blank(s.width))
		for i := s.row + 1; i < s.height; i++ {
			s.rows[i] = blank(s.width)
		}
	case letter == 'K' && params == "":
		copy(s.rows[s.row][s.col:], blank(s.width))
	default:
		panic(fmt.Sprintf("vt: unknown sequence ESC [ %s %c", params, letter))
	}
}
