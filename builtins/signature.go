package builtins

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

// A Call says what calls of a function may look like: its parameters by position,
// those without a default, and the keywords that it takes, nil for any.
type Call struct {
	Params, Required []string
	Keywords         map[string]bool
	Rest             bool // any number of arguments by position
}

// CallOf returns what the tables say of a function of the language by its path:
// "matmul", "F.relu". ok is false where they do not say all.
func CallOf(path string) (c Call, ok bool) {
	if r := rows[path]; r != nil {
		return r.call()
	}
	owner, name := split(path)
	for _, s := range functions() {
		if s.owner == owner && s.name == name {
			return s.callOf(), true
		}
	}
	return c, false
}

// callOf is CallOf of an operator.
func (s *signature) callOf() Call {
	c := Call{Keywords: map[string]bool{}, Rest: s.rest >= 0}
	for _, name := range s.parameters() {
		c.Keywords[name] = true
	}
	for _, p := range s.slots {
		c.Params = append(c.Params, p.Name)
		if p.Default == nil {
			c.Required = append(c.Required, p.Name)
		}
	}
	c.addSynonyms()
	return c
}

// addSynonyms lets the other names of parameters be keywords.
func (c *Call) addSynonyms() {
	for other, names := range arg.Synonyms {
		if slices.ContainsFunc(names, func(name string) bool { return c.Keywords[name] }) {
			c.Keywords[other] = true
		}
	}
	for _, group := range aliases {
		if !slices.ContainsFunc(group, func(name string) bool { return slices.Contains(c.Params, name) }) {
			continue
		}
		for _, name := range group {
			c.Keywords[name] = true
		}
	}
}

// call is CallOf of a row, as the first line of its documentation has it. Of what
// Starlark itself brings, it does not say enough.
func (r *Row) call() (c Call, ok bool) {
	names := r.parameters()
	first, _, _ := strings.Cut(r.Doc, "\n")
	open, end := strings.IndexByte(first, '('), strings.Index(first, ") ")
	if r.Fn == nil || open < 0 || end < open || starlark.Universe.Has(r.Name) {
		return c, false
	}
	list := first[open+1 : end]
	if strings.Contains(list, "*") || strings.Contains(list, "...") {
		return c, false
	}
	c.Params, c.Keywords = names, map[string]bool{}
	for _, name := range names {
		c.Keywords[name] = true
	}
	if len(names) > 0 && !strings.Contains(list, "=") {
		c.Required = names
	} else if head, _, found := strings.Cut(list, "="); found {
		c.Required = names[:min(strings.Count(head, ","), len(names))]
	}
	if r.Name == "all_to_all" {
		c.Required = names[:1] // of a list of tensors it takes no dims
	}
	c.addSynonyms()
	return c, true
}

// aliases are parameters that functions take by more than one name, of which the
// documentation has one.
var aliases = [][]string{
	{"device_mesh", "mesh", "_device_mesh"}, {"dtensor", "x"}, {"fn", "hook"}, {"global_shape", "shape"}, {"group", "parallel_mode"}, {"name", "param_name"},
	{"op", "reduce_op"}, {"parallelize_plan", "plan"}, {"params", "parameters"}, {"pattern", "compute_pattern"}, {"prepare_input", "_prepare_input"},
	{"prepare_output", "_prepare_output"}, {"shape", "size"}, {"value", "fill_value"}, {"x", "local_tensor"}, {"x", "tensor"},
}
