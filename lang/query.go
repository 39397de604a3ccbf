package lang

import (
	"fmt"
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

// describe returns a value as a list of variables shows it.
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

// explain says under which names the documentation may have the value that a dotted path
// stands for, and describes a variable.
func (s *server) explain(path string) *replyMsg {
	reply := new(replyMsg)
	if s.globals == nil {
		s.globals = newGlobals(s.predeclared())
	}
	protect(func() error {
		v := s.lookup(strings.Split(path, "."))
		if v == nil {
			return nil
		}
		if env, ok := s.env.(Completer); ok {
			reply.Names = env.Titles(v)
		}
		root, _, _ := strings.Cut(path, ".")
		if !s.globals.defined[root] {
			return nil
		}
		if fn, ok := v.(*starlark.Function); ok {
			reply.Text = text(describeFunction(fn))
		} else {
			reply.Text = text(fmt.Sprintf("%s: %s %s", path, v.Type(), s.describe(v)))
		}
		return nil
	})
	return reply
}

// describeFunction returns how a function of a script is called, where it is and
// its documentation.
func describeFunction(fn *starlark.Function) string {
	var params []string
	for i := range fn.NumParams() {
		name, _ := fn.Param(i)
		if d := fn.ParamDefault(i); d != nil {
			name += "=" + clip(d.String())
		}
		params = append(params, name)
	}
	if n := len(params); fn.HasKwargs() {
		params[n-1] = "**" + params[n-1]
	}
	if n := len(params) - 1; fn.HasVarargs() && fn.HasKwargs() {
		params[n-1] = "*" + params[n-1]
	} else if fn.HasVarargs() {
		params[n] = "*" + params[n]
	}
	what := fmt.Sprintf("%s(%s), of %s", fn.Name(), strings.Join(params, ", "), fn.Position())
	if doc := strings.TrimSpace(fn.Doc()); doc != "" {
		what += "\n" + doc
	}
	return what
}

// complete lists how the last word of line may go on: names of the session,
// attributes after a dot, keyword arguments inside a call, keys inside an index.
// Nothing is called.
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

// candidates returns where the last word of line begins, and its candidates.
func (s *server) candidates(line string) (start int, names []string) {
	c := cursorIn(line)
	if c.comment {
		return len(line), nil
	}
	if c.quote != 0 {
		names = withPrefix(ending(s.keys(c), string(c.quote)), line[c.quoteAt+1:])
		if len(names) == 0 {
			return len(line), nil
		}
		return c.quoteAt + 1, names
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
	if b, ok := c.innermost(); ok {
		return start, withPrefix(s.within(b, line[:start], word), word)
	}
	return start, withPrefix(append(s.known("", word != ""), keywords...), word)
}

// within returns the candidates for a word inside of a bracket, behind before.
func (s *server) within(b bracket, before, word string) []string {
	if param, ok := parameterBefore(before); ok {
		return s.known(param, word != "")
	}
	if b.open == '[' && word == "" {
		if keys := s.keys(cursor{open: []bracket{b}}); len(keys) > 0 {
			return ending(prefixed("\"", keys), "\"")
		}
	}
	var names []string
	if b.open == '(' {
		names = s.parameters(b.path)
	}
	if word == "" && len(names) > 0 {
		return names
	}
	names = append(names, s.known("", word != "")...)
	if word != "" {
		names = append(names, operators...)
	}
	return names
}

// parameterBefore returns the keyword of a call whose value follows before.
func parameterBefore(before string) (param string, ok bool) {
	head, ok := strings.CutSuffix(strings.TrimRight(before, " "), "=")
	param = trailing(head, isWord)
	return param, ok && param != ""
}

// known returns the globals that fit a parameter, "" for any: those that the session
// has assigned, and with all those of the language, too.
func (s *server) known(param string, all bool) []string {
	env, _ := s.env.(Completer)
	var names []string
	for name, v := range s.globals.names {
		own := s.globals.defined[name]
		if source.IsHidden(name) || param == "" && !all && !own {
			continue
		}
		if param != "" && env != nil && !env.Fits(param, v) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// keys returns the names by which the value before the innermost bracket can be
// indexed, or which its method takes.
func (s *server) keys(c cursor) []string {
	b, ok := c.innermost()
	if !ok || b.path == "" {
		return nil
	}
	path := strings.Split(b.path, ".")
	if b.open == '(' {
		path = path[:len(path)-1]
	}
	if len(path) == 0 {
		return nil
	}
	v := s.lookup(path)
	if d, ok := v.(*starlark.Dict); ok {
		var names []string
		for _, k := range d.Keys() {
			if name, ok := starlark.AsString(k); ok && !strings.ContainsAny(name, "\"'\\\n") {
				names = append(names, name)
			}
		}
		return names
	}
	if env, ok := s.env.(Completer); ok && v != nil {
		return env.Keys(v)
	}
	return nil
}

func ending(names []string, end string) []string {
	var out []string
	for _, name := range names {
		out = append(out, name+end)
	}
	return out
}

func prefixed(begin string, names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, begin+name)
	}
	return out
}

// keywords are the words of the language that may begin an input.
var keywords = []string{
	"and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass", "return", "while",
}

// operators are the words of the language that may stand inside of brackets.
var operators = []string{"and", "else", "for", "if", "in", "lambda", "not", "or"}

// withPrefix returns the names that begin with prefix, sorted. Names that
// begin with an underscore are only for a prefix with an underscore.
func withPrefix(names []string, prefix string) []string {
	names = slices.DeleteFunc(names, func(n string) bool {
		return !strings.HasPrefix(n, prefix) || prefix == "" && strings.HasPrefix(n, "_")
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// lookup returns the value of a dotted path, or nil.
func (s *server) lookup(path []string) starlark.Value { return valueAt(s.globals.names, path) }

// valueAt returns the value of a dotted path that begins with one of names, or nil.
func valueAt(names starlark.StringDict, path []string) starlark.Value {
	v := names[path[0]]
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
	return ending(names, "=")
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
