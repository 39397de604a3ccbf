package analysis

import (
	"slices"

	"go.starlark.net/starlark"
)

// A Language is all that programs have without a load, and all that is known of it.
type Language struct {
	Names starlark.StringDict
	// Signature returns the parameters of a function by its path; of a method
	// those behind the receiver.
	Signature func(path string) (Signature, bool)
	// Doc returns the documentation of a path.
	Doc func(path string) (string, bool)
	// Paths lists all that have a documentation.
	Paths []string
	// Types holds the names that the values of each type have.
	Types map[string][]string
	// Kinds are the types that values of a type may have the members of: of
	// "Tensor" those of "DTensor", too.
	Kinds map[string][]string
	// Loose are names that values have which have no type in Types: structs that
	// functions return.
	Loose []string
	// Results says the types of results and of attributes, by path: the
	// name of a type, "list:T" and "tuple:T" of elements of T; "=0" is the type of the
	// first argument, "@0" that of a call of it.
	Results map[string]string
	// Classes holds the attributes of modules by the function that makes them:
	// of "nn.Linear" that "weight" is a "Tensor". One called Others says that
	// there may be more.
	Classes map[string]map[string]string
	// Choices lists the strings that a parameter takes, by path and parameter:
	// "all_reduce.op". DTypes are those of every parameter called dtype, Devices those
	// of every one called device.
	Choices         map[string][]string
	DTypes, Devices []string
	// Instead says of a keyword that functions have elsewhere what to do; nil says nothing.
	Instead func(keyword string) string
	// Wants says of a parameter of the language which literals it takes: "tensor",
	// "operand" (a tensor or a number), "int", "ints", "number", "dtype", "string"; "" is anything.
	Wants func(path, param string) string
}

// Others is the name of an attribute that stands for any.
const Others = "*"

// A Signature says how a function may be called.
type Signature struct {
	Params   []string        // those by position, in order
	Required []string        // those of Params, and of Keywords, that have no default
	Keywords map[string]bool // the arguments that may be passed by name; nil for anything
	Rest     bool            // any number of arguments by position
	Least    int             // how many arguments it wants at least, more than Required says
}

// Known returns the keywords that a call may have, ascending.
func (s Signature) Known() []string {
	var names []string
	for name := range s.Keywords {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// AllMembers returns the names that values of any type have.
func (l *Language) AllMembers() map[string]bool {
	all := map[string]bool{}
	for _, list := range l.Types {
		for _, name := range list {
			all[name] = true
		}
	}
	for _, name := range l.Loose {
		all[name] = true
	}
	for _, fields := range l.Classes {
		for name := range fields {
			all[name] = true
		}
	}
	for _, v := range l.Names {
		addStatics(all, v)
		if h, ok := v.(starlark.HasAttrs); ok {
			for _, name := range h.AttrNames() {
				member, _ := h.Attr(name)
				addStatics(all, member)
			}
		}
	}
	return all
}

// addStatics adds the attributes of a function: from_local of DTensor.
func addStatics(all map[string]bool, v starlark.Value) {
	_, isFunction := v.(starlark.Callable)
	if h, ok := v.(starlark.HasAttrs); ok && isFunction {
		for _, name := range h.AttrNames() {
			all[name] = true
		}
	}
}

// Owners returns the types whose values have a member of the name, ascending.
func (l *Language) Owners(member string) []string {
	var owners []string
	for t, list := range l.Types {
		if slices.Contains(list, member) {
			owners = append(owners, l.kinds(t, member)...)
		}
	}
	slices.Sort(owners)
	return owners
}

// kinds returns the types by which values of a type may have a member.
func (l *Language) kinds(t, member string) []string {
	if len(l.Kinds[t]) == 0 {
		return []string{t}
	}
	var list []string
	for _, kind := range l.Kinds[t] {
		if _, ok := l.Doc(kind + "." + member); ok && slices.Contains(l.Paths, kind+"."+member) {
			list = append(list, kind)
		}
	}
	return list
}
