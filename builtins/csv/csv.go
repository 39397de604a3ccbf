// Package csv reads tables of numbers from text: a row on each line, cells
// between delimiters.
//
// A cell may stand in double quotes, behind which the delimiter comes at once. Space around a cell, or in front of its
// quotes, does not count.
// Empty lines are skipped. Lines end in LF or CR LF, and a byte order mark at
// the start is skipped, as spreadsheets write them.
//
// What a cell means is the caller's: Read gives each to a function. An Error has the
// line and the column at fault. For example
//
//	table, err := csv.Read(r, csv.Options{Delimiter: ','}, func(cell string) (float64, error) {
//		return strconv.ParseFloat(cell, 64)
//	})
package csv

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Options says how a table is written.
type Options struct {
	Delimiter rune
	Header    bool // the first row holds names
}

// A Table is what a file holds, row after row.
type Table[T any] struct {
	Data       []T
	Rows, Cols int
}

// An Error says where a table is malformed.
type Error struct {
	Line   int    // from 1
	Column int    // of cells, from 1; 0 for all of the line
	Got    string // as a message shows it
	Want   string
	// Names says that the row is the first one and that all its cells look like
	// names of columns.
	Names bool
	// Empty says that the cell has nothing in it.
	Empty bool
}

func (e *Error) Error() string {
	place := fmt.Sprintf("line %d", e.Line)
	if e.Column > 0 {
		place += fmt.Sprintf(", column %d", e.Column)
	}
	return fmt.Sprintf("%s: got %s, want %s", place, e.Got, e.Want)
}

// ErrEmpty is the error of a file without rows, whose columns nobody knows.
var ErrEmpty = errors.New("the file holds no row")

// CheckDelimiter returns an error if r cannot stand between cells.
func CheckDelimiter(r rune) error {
	if r == 0 || r == '"' || r == '\r' || r == '\n' || r == utf8.RuneError || !utf8.ValidRune(r) {
		return fmt.Errorf("%q cannot stand between cells", r)
	}
	if strings.ContainsRune("0123456789+-.eE", r) {
		return fmt.Errorf("%q is part of numbers", r)
	}
	return nil
}

// Read reads a table whose cells parse understands; its errors say what a cell
// should be: "a float32". Rows have the same number of cells: that of the
// header, or of the first row.
func Read[T any](r io.Reader, o Options, parse func(cell string) (T, error)) (*Table[T], error) {
	rows := newReader(r, o)
	t := new(Table[T])
	for first := true; ; first = false {
		cells, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, explain(err)
		}
		if first {
			t.Cols = len(cells)
		}
		if first && o.Header {
			continue
		}
		if err := t.add(rows, cells, parse); err != nil {
			err.Names = first && !slices.ContainsFunc(cells, func(cell string) bool { return !isName(cell) })
			return nil, err
		}
	}
	if t.Cols == 0 {
		return nil, ErrEmpty
	}
	return t, nil
}

func newReader(r io.Reader, o Options) *csv.Reader {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(3); string(mark) == "\xef\xbb\xbf" {
		b.Discard(3)
	}
	rows := csv.NewReader(b)
	rows.Comma = o.Delimiter
	rows.ReuseRecord = true
	rows.FieldsPerRecord = -1
	rows.TrimLeadingSpace = o.Delimiter != ' ' && o.Delimiter != '\t'
	return rows
}

// add appends a row of cells.
func (t *Table[T]) add(rows *csv.Reader, cells []string, parse func(string) (T, error)) *Error {
	if len(cells) != t.Cols {
		line, _ := rows.FieldPos(0)
		return &Error{Line: line, Got: fmt.Sprintf("a row of %d", len(cells)), Want: fmt.Sprintf("%d, as in the first row", t.Cols)}
	}
	for i, cell := range cells {
		v, err := parse(strings.TrimSpace(cell))
		if err != nil {
			line, _ := rows.FieldPos(i)
			return &Error{Line: line, Column: i + 1, Got: quote(cell), Want: err.Error(), Empty: strings.TrimSpace(cell) == ""}
		}
		t.Data = append(t.Data, v)
	}
	t.Rows++
	return nil
}

// isName reports whether a cell begins as names do.
func isName(cell string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(cell))
	return r == '_' || unicode.IsLetter(r)
}

// quote shows a cell in a message, which a wrong file may have made long.
func quote(cell string) string {
	const most = 60
	if len(cell) <= most {
		return strconv.Quote(cell)
	}
	return strconv.Quote(strings.ToValidUTF8(cell[:most], "")) + "..."
}

// explain says what is wrong with a row that cannot be cut into cells.
func explain(err error) error {
	var parse *csv.ParseError
	switch {
	case !errors.As(err, &parse):
		return err
	case errors.Is(err, csv.ErrBareQuote):
		return &Error{Line: parse.Line, Got: "a quote inside a cell", Want: "quotes around whole cells"}
	}
	return &Error{Line: parse.StartLine, Got: "a quote that is not closed, or text or space behind one", Want: "quotes around whole cells"}
}
