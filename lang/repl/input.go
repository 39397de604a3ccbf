package repl

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"go.starlark.net/syntax"
	"golang.org/x/term"

	"tpsh/internal/lazyregexp"
	"tpsh/lang"
	"tpsh/lang/source"
)

// ErrInterrupt is the error of a Reader when the user gives up the line.
var ErrInterrupt = errors.New("interrupt")

// A Reader reads lines.
type Reader interface {
	// ReadLine returns the next line, without its newline, or where somebody types,
	// all lines up to the Enter that ended them. At a terminal it shows prompt
	// first. At the end it returns io.EOF.
	ReadLine(prompt string) (string, error)
	// Interactive reports whether somebody types the lines.
	Interactive() bool
	Close() error
}

// A Completer says where in a line its last word begins, and its candidates.
type Completer func(line string) (start int, names []string)

// An Input makes the Reader of a shell.
type Input func(Completer) (Reader, error)

// Stdin is the Input of the process: with editing, history and completion at
// a terminal, else plain.
func Stdin(complete Completer) (Reader, error) {
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
		return newTerminal(complete), nil
	}
	return &plainReader{in: bufio.NewReader(os.Stdin)}, nil
}

// Plain returns an Input that takes lines from r and shows no prompt.
func Plain(r io.Reader) Input {
	return func(Completer) (Reader, error) { return &plainReader{in: bufio.NewReader(r)}, nil }
}

type plainReader struct{ in *bufio.Reader }

func (r *plainReader) ReadLine(string) (string, error) {
	line, err := r.in.ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func (r *plainReader) Interactive() bool { return false }
func (r *plainReader) Close() error      { return nil }

// statements reads whole statements from lines.
type statements struct {
	reader Reader
	ahead  []string // lines that were read and belong to the next statement
	line   int      // how many lines have been taken
}

// A statement is the text typed at one prompt: a command, or the source that
// begins at a line of the input.
type statement struct {
	command string
	source  string
	line    int
}

const continuation = "... "

// next returns the next statement. Blank lines and comments it skips. Its
// error is of the reader, or the statement's syntax error.
func (s *statements) next(prompt string) (*statement, error) {
	for {
		first, err := s.take(prompt)
		if err != nil {
			return nil, err
		}
		if isQuestion(first) {
			return &statement{source: first, line: s.line}, nil
		}
		if command, ok := strings.CutPrefix(strings.TrimSpace(first), ":"); ok {
			return &statement{command: command, line: s.line}, nil
		}
		if blank(first) {
			continue
		}
		begin := s.line
		source, err := s.complete(first)
		return &statement{source: source, line: begin}, err
	}
}

// take returns the next line.
func (s *statements) take(prompt string) (line string, err error) {
	if len(s.ahead) == 0 {
		var text string
		if text, err = s.reader.ReadLine(prompt); err == nil {
			s.ahead = strings.Split(text, "\n")
		}
	}
	if err == nil {
		line, s.ahead = s.ahead[0], s.ahead[1:]
		s.line++
	}
	if s.line == 1 {
		line = lang.WithoutMark(line)
	}
	return line, err
}

// giveBack makes line the next one again.
func (s *statements) giveBack(line string) {
	s.ahead = slices.Insert(s.ahead, 0, line)
	s.line--
}

// forget forgets lines that were typed and are in no statement yet.
func (s *statements) forget() {
	s.ahead = nil
	if r, ok := s.reader.(interface{ Forget() }); ok {
		r.Forget()
	}
}

// complete reads on until the statement that begins with a line is whole, and
// returns its source.
//
// A line that ends inside brackets, a string or the head of a block goes on. A block
// ends before a line that is not indented and, where somebody types, at a
// blank line, unless more lines have come together with that.
func (s *statements) complete(first string) (string, error) {
	source, begin := first+"\n", s.line
	for {
		state, err := parse(source, begin)
		if state == whole || err != nil {
			return source, err
		}
		line, err := s.take(continuation)
		if errors.Is(err, io.EOF) {
			_, _, err = parseAll(source, begin)
			return source, err
		}
		if err != nil {
			return "", err
		}
		if state == block {
			if strings.TrimSpace(line) == "" && s.reader.Interactive() && len(s.ahead) == 0 {
				return source, nil
			}
			if !blank(line) && !continues(line) {
				s.giveBack(line)
				return source, nil
			}
		}
		source += line + "\n"
	}
}

// blank reports whether a line holds nothing but perhaps a comment.
func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// continues reports whether a line can continue a block at the margin.
func continues(line string) bool {
	return line[0] == ' ' || line[0] == '\t' || trailer.Get().MatchString(line)
}

var trailer = lazyregexp.New(`^(else|elif)\b`)

// A state says which end is missing from a statement.
type state int

const (
	whole state = iota // nothing
	block              // more of its block may come
	open               // it ends in the middle
)

// parse returns the state of a source, which begins at a line of the input,
// or its syntax error.
func parse(source string, begin int) (state, error) {
	f, missing, err := parseAll(source, begin)
	if missing {
		return open, nil
	}
	if err != nil || len(f.Stmts) == 0 {
		return whole, err
	}
	switch f.Stmts[len(f.Stmts)-1].(type) {
	case *syntax.DefStmt, *syntax.IfStmt, *syntax.ForStmt, *syntax.WhileStmt:
		return block, nil
	}
	return whole, nil
}

// parseAll parses a source. missing says that its error is to end too early.
func parseAll(text string, begin int) (f *source.File, missing bool, err error) {
	f, err = source.Parse(Typed, text, source.Options{FirstLine: begin, Dialect: lang.FileOptions})
	var e *source.Error
	return f, errors.As(err, &e) && e.Incomplete, err
}
