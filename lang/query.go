package lang

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/lang/source"
)

// maxShown is how many bytes of a value's text a list of variables shows.
const maxShown = 60

// variables lists the globals that the session's chunks have assigned.
func (s *server) variables() []Variable {
	var list []Variable
	if s.globals == nil {
		return nil
	}
	for _, name := range s.globals.names.Keys() {
		if !s.globals.defined[name] || name == "_" {
			continue
		}
		v := s.globals.names[name]
		list = append(list, Variable{name, v.Type(), s.describe(v)})
	}
	return list
}

// describe returns what a list of variables shows of a value.
func (s *server) describe(v starlark.Value) (shown string) {
	err := protect(func() error {
		if shown = s.env.Describe(v); shown == "" {
			shown = v.String()
		}
		return nil
	})
	if err != nil {
		shown, _, _ = strings.Cut(err.Error(), "\n")
	}
	return clip(shown)
}

// clip returns the first line of s, and that cut to maxShown.
func clip(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if runes := []rune(line); len(runes) > maxShown {
		line, more = string(runes[:maxShown]), true
	}
	if more {
		line += "..."
	}
	return line
}

// complete lists how the last word of line may go on: names of the session,
// attributes after a dot, keyword arguments inside a call. Nothing is called.
func (s *server) complete(line string) *replyMsg {
	reply := new(replyMsg)
	if s.globals == nil {
		s.globals = newGlobals(s.predeclared())
	}
	protect(func() error {
		reply.Start, reply.Names = s.candidates(line)
		return nil
	})
	return reply
}

// candidates returns where the last word of line begins, and what it may be.
func (s *server) candidates(line string) (start int, names []string) {
	calls, inString := openCalls(line)
	if inString {
		return len(line), nil
	}
	start = len(line) - len(trailing(line, isWord))
	path := strings.Split(trailing(line, isPath), ".")
	word := path[len(path)-1]
	if len(path) > 1 {
		if v := s.lookup(path[:len(path)-1]); v != nil {
			names = attributes(v)
		}
		return start, withPrefix(names, word)
	}
	for name := range s.globals.names {
		if !source.IsHidden(name) {
			names = append(names, name)
		}
	}
	names = append(names, keywords...)
	if len(calls) > 0 {
		names = append(names, s.parameters(calls[len(calls)-1])...)
	}
	return start, withPrefix(names, word)
}

// keywords are the words of the language that may begin an input.
var keywords = []string{
	"and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass", "return", "while",
}

// withPrefix returns the names that begin with prefix, sorted. Names that
// begin with an underscore are only for those who ask for them.
func withPrefix(names []string, prefix string) []string {
	names = slices.DeleteFunc(names, func(n string) bool {
		return !strings.HasPrefix(n, prefix) || prefix == "" && strings.HasPrefix(n, "_")
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// lookup returns the value of a dotted path, or nil.
func (s *server) lookup(path []string) starlark.Value {
	v := s.globals.names[path[0]]
	for _, name := range path[1:] {
		h, ok := v.(starlark.HasAttrs)
		if !ok {
			return nil
		}
		if v, _ = h.Attr(name); v == nil {
			return nil
		}
	}
	return v
}

func attributes(v starlark.Value) []string {
	if h, ok := v.(starlark.HasAttrs); ok {
		return slices.Clone(h.AttrNames())
	}
	return nil
}

// parameters returns the keywords that a call of the value at a dotted path
// takes, each with "=".
func (s *server) parameters(path string) []string {
	v := s.lookup(strings.Split(path, "."))
	if v == nil {
		return nil
	}
	var names []string
	if fn, ok := v.(*starlark.Function); ok {
		names = functionParams(fn)
	} else if env, ok := s.env.(Signer); ok {
		names = env.Parameters(v)
	}
	var out []string
	for _, name := range names {
		out = append(out, name+"=")
	}
	return out
}

// functionParams returns the names by which arguments can be passed to fn.
func functionParams(fn *starlark.Function) []string {
	n := fn.NumParams()
	if fn.HasVarargs() {
		n--
	}
	if fn.HasKwargs() {
		n--
	}
	var names []string
	for i := range n {
		name, _ := fn.Param(i)
		names = append(names, name)
	}
	return names
}

// trailing returns the longest end of s all of whose bytes are such.
func trailing(s string, such func(byte) bool) string {
	i := len(s)
	for i > 0 && such(s[i-1]) {
		i--
	}
	return s[i:]
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isPath(c byte) bool { return c == '.' || isWord(c) }

// openCalls returns the dotted paths before the brackets that line leaves
// open, and whether it ends in a string or a comment.
func openCalls(line string) (calls []string, inString bool) {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			return nil, true
		case c == '(' || c == '[' || c == '{':
			calls = append(calls, trailing(line[:i], isPath))
		case (c == ')' || c == ']' || c == '}') && len(calls) > 0:
			calls = calls[:len(calls)-1]
		}
	}
	return calls, quote != 0
}
