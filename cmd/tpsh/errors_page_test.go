package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"tpsh/embed"
)

var updateErrors = flag.Bool("update-errors", false, "write docs/errors.md")

const errorsPage = "../../docs/errors.md"

// inner are words of the parser, the resolver and the interpreter that mean
// nothing to those who write programs.
var inner = regexp.MustCompile(`(?i)primary expression|not an identifier|got identifier|got '|want '|\bindent\b,|outdent|end of file, want|sliceexpr|indexexpr|binaryexpr|unexpected input character|does not associate|starlark|goroutine|internal error|<session>|\(\*|syntax\.|nil pointer|predeclared variable`)

// The page of mistakes shows what tpsh says of each, on two ranks.
func TestErrorsPage(t *testing.T) {
	var page bytes.Buffer
	page.WriteString("# What tpsh says of mistakes\n\n" +
		"Mistakes that newcomers make, above all those who know Python, PyTorch and NumPy, and what they are told. A test makes this\n" +
		"page (`go test ./cmd/tpsh -run ErrorsPage -update-errors`), running each on two ranks.\n")
	count := 0
	for _, theme := range mistakes {
		fmt.Fprintf(&page, "\n## %s\n", theme.title)
		for _, source := range theme.sources {
			count++
			message := lastLine(t, source)
			if inner.MatchString(message) {
				t.Errorf("%s\nis told in inner words: %s", source, message)
			}
			fmt.Fprintf(&page, "\n```python\n%s\n```\n> %s\n", source, strings.ReplaceAll(message, "\n", "  \n> "))
		}
	}
	if count < 200 {
		t.Errorf("%d mistakes, want 200", count)
	}
	if *updateErrors {
		if err := os.WriteFile(errorsPage, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(errorsPage)
	if err != nil || !bytes.Equal(page.Bytes(), want) {
		t.Errorf("%s differs from what tpsh says: go test ./cmd/tpsh -run ErrorsPage -update-errors (%v)", errorsPage, err)
	}
}

// atLine is what stands before the message of a mistake in the source.
var atLine = regexp.MustCompile(`^script\.star:(\d+):(\d+): `)

// lastLine runs a source and returns the message of its report, without the
// traceback.
func lastLine(t *testing.T, source string) string {
	_, err := embed.Run(t.Context(), source, embed.Options{Ranks: 2, MaxSteps: 1_000_000, Dir: t.TempDir()})
	if err == nil {
		t.Errorf("%s\nis no mistake", source)
		return ""
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "Error") {
			var end int
			for end = i + 1; end < len(lines) && strings.HasPrefix(lines[end], "  "); end++ {
			}
			return strings.Join(lines[i:end], "\n")
		}
		if m := atLine.FindStringSubmatch(line); m != nil {
			return fmt.Sprintf("line %s, column %s: %s", m[1], m[2], atLine.ReplaceAllString(line, ""))
		}
	}
	return lines[0]
}
