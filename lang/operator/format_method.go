package operator

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/internal/units"
)

// A formatter is one call of text.format(...).
type formatter struct {
	fn     string
	thread *starlark.Thread
	args   starlark.Tuple
	kwargs []starlark.Tuple
	next   int  // the argument of the next {}
	manual bool // a field has named its argument by number
}

// format returns the text with its fields filled in. depth is how deeply fields
// may stand in one another.
func (f *formatter) format(text string, depth int) (string, error) {
	if depth == 0 {
		return "", errorf(f.fn, "got a field in the format of a field of a format, want fewer")
	}
	b := builder{thread: f.thread}
	for text != "" {
		i := strings.IndexAny(text, "{}")
		if i < 0 {
			i = len(text)
		}
		b.WriteString(text[:i])
		if text = text[i:]; text == "" {
			break
		}
		if len(text) > 1 && text[1] == text[0] {
			b.WriteByte(text[0])
			text = text[2:]
			continue
		}
		if text[0] == '}' {
			return "", errorf(f.fn, "got a } that closes nothing, want }} for the character")
		}
		end := fieldEnd(text)
		if end < 0 {
			return "", errorf(f.fn, "got a { that is never closed, want {{ for the character")
		}
		out, err := f.field(text[1:end], depth)
		if err == nil {
			err = b.add(out)
		}
		if err != nil {
			return "", err
		}
		text = text[end+1:]
	}
	return b.String(), nil
}

// fieldEnd returns the index of the } that closes the { with which text begins,
// or -1.
func fieldEnd(text string) int {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

// field returns the text of a field: name!conversion:format.
func (f *formatter) field(text string, depth int) (string, error) {
	name, spec, _ := strings.Cut(text, ":")
	name, conv, hasConv := strings.Cut(name, "!")
	if hasConv && conv != "r" && conv != "s" && conv != "a" {
		return "", errorf(f.fn, "got !%s in a field, want !r, !s or !a", conv)
	}
	x, err := f.lookup(name)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(spec, "{}") {
		if spec, err = f.format(spec, depth-1); err != nil {
			return "", err
		}
	}
	return FormatValue(f.fn, convert(x, conv), spec)
}

// lookup returns the value that a field names: an argument, perhaps with
// attributes and elements of it.
func (f *formatter) lookup(name string) (starlark.Value, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	x, err := f.argument(name[:end])
	for rest := name[end:]; err == nil && rest != ""; {
		if rest[0] == '.' {
			n := strings.IndexAny(rest[1:], ".[")
			if n < 0 {
				n = len(rest) - 1
			}
			x, err = f.attr(x, rest[1:1+n])
			rest = rest[1+n:]
			continue
		}
		n := strings.IndexByte(rest, ']')
		if rest[0] != '[' || n < 0 {
			return nil, errorf(f.fn, "got the field {%s}, want a name, a number, .name or [key]", name)
		}
		x, err = f.element(x, rest[1:n])
		rest = rest[n+1:]
	}
	return x, err
}

func (f *formatter) argument(name string) (starlark.Value, error) {
	i, err := strconv.Atoi(name)
	if name == "" {
		if f.manual {
			return nil, errorf(f.fn, "got {} beside fields with numbers, want one of both")
		}
		i, err = f.next, nil
		f.next++
	} else if err == nil {
		if f.next > 0 {
			return nil, errorf(f.fn, "got {%s} beside {}, want one of both", name)
		}
		f.manual = true
	}
	if err == nil {
		if i >= len(f.args) {
			return nil, errorf(f.fn, "got %s, want one for each field (the text has field %d)", units.Count(len(f.args), "argument"), i)
		}
		return f.args[i], nil
	}
	for _, kw := range f.kwargs {
		if string(kw[0].(starlark.String)) == name {
			return kw[1], nil
		}
	}
	return nil, errorf(f.fn, `got no argument %s, which the text names: write %s=... , or an f-string: f"{%s}"`, name, name, name)
}

func (f *formatter) attr(x starlark.Value, name string) (starlark.Value, error) {
	if h, ok := x.(starlark.HasAttrs); ok {
		if v, err := h.Attr(name); v != nil || err != nil {
			return v, err
		}
	}
	return nil, errorf(f.fn, "%s has no .%s", describe(x), name)
}

// element returns x[key], where key is an int if it is written as one.
func (f *formatter) element(x starlark.Value, key string) (starlark.Value, error) {
	i, err := strconv.Atoi(key)
	if m, ok := x.(starlark.Mapping); ok {
		k := starlark.Value(starlark.String(key))
		if err == nil {
			k = starlark.MakeInt(i)
		}
		if v, found, err := m.Get(k); err != nil || found {
			return v, err
		}
		return nil, errorf(f.fn, "%s has no key %s", describe(x), key)
	}
	if s, ok := x.(starlark.Indexable); ok && err == nil && 0 <= i && i < s.Len() {
		return s.Index(i), nil
	}
	return nil, errorf(f.fn, "%s has no element %s", describe(x), key)
}
