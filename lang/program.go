package lang

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.starlark.net/syntax"
)

// A Program is a source with its arguments, which a Session runs on its ranks.
type Program struct {
	// Path names the source in positions, as the user gave it.
	Path string
	// Dir is the absolute path of the script's folder (see ScriptDir).
	Dir string
	// Source is the text to run.
	Source string

	// Folders are those that the program loads files from, beside its own.
	Folders

	// Function is called, without arguments, after the top level has run; ""
	// for none.
	Function string
	// Before and After are called before and after Function, After whatever
	// becomes of Function; "" for none.
	Before, After string
	// Case is the number, from 1, of the element of the global PARAMS (of its
	// value for Function, if it is a dict) that Function is called with: a tuple
	// of arguments, a dict of named ones, or one argument. 0 is no arguments.
	Case int
	// Cover counts how often each line runs; see Outcome.Cover.
	Cover bool
	// Describe notes the values of variables; see Outcome.Described.
	Describe bool

	// Chunk runs the source among globals that the ranks keep from chunk to
	// chunk. If it is a single expression, the Outcome holds its values.
	Chunk bool
	// FirstLine is the number of the first line of a chunk; 0 counts as 1.
	FirstLine int
	// Ranks lists the ranks that run a chunk, ascending; nil for all.
	Ranks []int

	// Debug lets the debugger of the session's Options stop the program, also in
	// breakpoint(). It then can stop at every statement of a chunk, of files that
	// mention breakpoint, and with Marked of all files, which costs a little.
	Debug, Marked bool
	// Valueless keeps a chunk's value out of the Outcome.
	Valueless bool
	// Width is how many columns a value is to be shown in (see Widener); 0 for any.
	Width int

	// Timeout ends the program after a while; 0 for never.
	Timeout time.Duration
	// MaxSteps ends the program on a rank after so many steps of the
	// interpreter; 0 for no limit.
	MaxSteps uint64
}

// ReadProgram reads the script at path.
func ReadProgram(path string) (Program, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Program{}, fmt.Errorf("read %s: %w", path, err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return Program{}, fmt.Errorf("read %s: %w", path, pathless(err))
	}
	return Program{Path: path, Dir: dir, Source: WithoutMark(string(source))}, nil
}

// NewProgram returns the program of a source that is in no file. name stands for
// the file in positions; the working folder is the script's.
func NewProgram(name, source string) (Program, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Program{}, fmt.Errorf("read %s: %w", name, err)
	}
	return Program{Path: name, Dir: dir, Source: WithoutMark(source)}, nil
}

// WithoutMark returns a text without the byte order mark with which some
// editors begin one.
func WithoutMark(text string) string { return strings.TrimPrefix(text, "\ufeff") }

// FileOptions is the dialect of Starlark: everything that it has to offer.
// It must not be changed.
var FileOptions = &syntax.FileOptions{
	Set:             true,
	While:           true,
	TopLevelControl: true,
	GlobalReassign:  true,
	Recursion:       true,
}
