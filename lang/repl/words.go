package repl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tpsh/internal/lazyregexp"
)

// Words that are no statements of the language, but that people type at prompts.
var (
	exitWord = lazyregexp.New(`^(exit|quit)\s*(\(\s*\))?$`)
	helpWord = lazyregexp.New(`^help\s*(\(\s*\))?$`)
	helpCall = lazyregexp.New(`^help\s*\(\s*["']?([A-Za-z_][A-Za-z_0-9.]*)["']?\s*\)$`)
	question = lazyregexp.New(`^(?:([A-Za-z_][A-Za-z_0-9.]*)\s*\?{1,2}|\?{1,2}\s*([A-Za-z_][A-Za-z_0-9.]*))$`)
)

// isQuestion reports whether a text is a question of the form f? or ?f.
func isQuestion(text string) bool { return question.Get().MatchString(strings.TrimSpace(text)) }

// word returns the command that such a word stands for, or "". A variable of the
// user's called so comes first.
func (s *Shell) word(ctx context.Context, text string) (command string) {
	text = strings.TrimSpace(text)
	name := ""
	switch {
	case exitWord.Get().MatchString(text):
		name, command = exitWord.Get().FindStringSubmatch(text)[1], "quit"
	case helpWord.Get().MatchString(text):
		name, command = "help", "help"
	case helpCall.Get().MatchString(text):
		name, command = "help", "doc "+helpCall.Get().FindStringSubmatch(text)[1]
	case isQuestion(text):
		m := question.Get().FindStringSubmatch(text)
		return "doc " + m[1] + m[2]
	default:
		return ""
	}
	if vars, err := s.session.Variables(ctx); err == nil && slices.Contains(variableNames(vars), name) {
		return ""
	}
	return command
}

// doc shows the documentation of a name: that of the language, or the description of a variable of
// the session.
func doc(ctx context.Context, s *Shell, name string) error {
	about := s.opts.Doc
	if about == nil {
		about = func(name string) (string, error) { return "", fmt.Errorf("nothing is known of %s", name) }
	}
	names, what, err := s.session.Explain(ctx, name)
	if err != nil || what == "" { // it is no variable
		names = append([]string{name}, names...)
	}
	text, err := firstOf(about, names)
	switch {
	case what != "" && err == nil:
		text = what + "\n\n" + text
	case what != "":
		text = what
	case err != nil:
		return err
	}
	fmt.Fprintln(s.opts.Out, strings.TrimSuffix(text, "\n"))
	return nil
}

// firstOf returns about(name) of the first of names that it knows, or the error
// that it has for the first.
func firstOf(about func(string) (string, error), names []string) (text string, err error) {
	err = errors.New("nothing is known of it")
	for i, name := range names {
		text, e := about(name)
		if e == nil {
			return text, nil
		}
		if i == 0 {
			err = e
		}
	}
	return "", err
}
