package arg

import "go.starlark.net/starlark"

// showWidth is about how many bytes of a value an error shows.
const showWidth = 60

// showDepth is how many containers inside one another an error shows.
const showDepth = 2

// A Described value says itself how errors show it.
type Described interface{ Describe() string }

// Show returns v as errors show it: as a script writes it, if it is short.
func Show(v starlark.Value) string { return show(v, showDepth) }

// show is Show of a value of which depth containers inside one another are
// shown; a container may hold itself.
func show(v starlark.Value, depth int) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case Described:
		return v.Describe()
	case *starlark.Function:
		return "function " + v.Name()
	case *starlark.Builtin:
		return "function " + v.Name()
	case starlark.String:
		return shorten(v.String())
	case starlark.Tuple:
		if len(v) == 1 {
			return container("(", ",)", v, nil, depth)
		}
		return container("(", ")", v, nil, depth)
	case *starlark.List:
		return container("[", "]", v, nil, depth)
	case *starlark.Set:
		return container("set([", "])", v, nil, depth)
	case *starlark.Dict:
		return container("{", "}", v, v, depth)
	case starlark.Int, starlark.Float, starlark.Bool, starlark.NoneType:
		return v.String()
	}
	if v.Type() == "unknown" {
		return "an unknown number"
	}
	return "a " + v.Type()
}

// shorten returns a quoted string if it is short, else its beginning.
func shorten(s string) string {
	if len(s) <= showWidth {
		return s
	}
	cut := showWidth - len(`..."`)
	for cut > 0 && s[cut]&0xC0 == 0x80 { // inside a character
		cut--
	}
	return s[:cut] + `..."`
}

// container shows the elements of v, if it is a dict with their values, as far
// as the width goes.
func container(opening, closing string, v starlark.Iterable, dict *starlark.Dict, depth int) string {
	if depth == 0 {
		return opening + "..." + closing
	}
	s := opening
	it := v.Iterate()
	defer it.Done()
	var e starlark.Value
	for i := 0; it.Next(&e); i++ {
		if i > 0 {
			s += ", "
		}
		if len(s) > showWidth-len(closing) {
			return s + "..." + closing
		}
		s += show(e, depth-1)
		if dict != nil {
			value, _, _ := dict.Get(e)
			s += ": " + show(value, depth-1)
		}
	}
	return s + closing
}
