package builtins

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// A Call says what calls of a function may look like: its parameters by position,
// those without a default, and the keywords that it takes, nil for any.
type Call struct {
	Params, Required []string
	Keywords         map[string]bool
	Rest             bool // any number of arguments by position
	Least            int  // how many arguments it wants at least, more than Required says
}

// CallOf returns what the tables say of a function of the language by its path:
// "matmul", "F.relu". ok is false where they do not say all.
func CallOf(path string) (c Call, ok bool) {
	if list, ok := starlarks[path]; ok {
		c := callFrom(list)
		c.Least = least[path]
		return c, true
	}
	if path == "Tensor.to" || path == "Module.to" {
		return toCall, true
	}
	if r := rows[path]; r != nil {
		return r.call()
	}
	owner, name := split(path)
	for _, s := range functions() {
		if s.owner == owner && s.name == name {
			c := s.callOf(0)
			c.Least = max(c.Least, least[path])
			return c, true
		}
	}
	for _, s := range methods() {
		if s.owner == owner && s.name == name {
			c := s.callOf(s.received())
			c.Least = max(c.Least, least[path])
			if s.received() == 0 {
				c.Required = slices.DeleteFunc(c.Required, func(name string) bool { return s.rest >= 0 && name == s.slots[s.rest].Name })
			}
			return c, true
		}
	}
	return c, false
}

// least is how many arguments functions want of which each may be left out.
var least = map[string]int{"max": 1, "min": 1, "arange": 1, "clamp": 2, "Tensor.clamp": 1}

// toCall is a call of x.to, whose first argument is a dtype or the device before one.
var toCall = Call{Least: 1, Params: []string{"first", "dtype"}, Keywords: map[string]bool{"dtype": true, "device": true}}

// starlarks are the parameters of Starlark's own functions. Most take no keywords;
// what says *x here takes any number of arguments.
var starlarks = map[string]string{
	"abs": "x", "any": "x, dim=None, keepdim=False", "all": "x, dim=None, keepdim=False", "chr": "n", "dir": "x", "enumerate": "x, start=0", "getattr": "x, name, default=None",
	"hasattr": "x, name", "hash": "x", "len": "x", "max": "*x, key=None", "min": "*x, key=None", "ord": "c", "print": "*x, sep=\" \"", "repr": "x", "reversed": "x", "sorted": "x, key=None, reverse=False", "str": "x",
	"int": "x, base=10", "float": "x=0.0", "bool": "x=False", "bytes": "x",
	"type": "x", "zip": "*x", "fail": "*x, sep=\" \"", "tuple": "x=()", "set": "x=()", "list": "x=[]",
	"math.sqrt": "x", "math.exp": "x", "math.floor": "x", "math.ceil": "x", "math.pow": "x, y", "math.sin": "x", "math.cos": "x", "math.log": "x, base=None",
	"json.encode": "x", "json.decode": "x, default=None", "range": "start, stop=None, step=1",
	"string.join": "x", "string.split": "sep=None, maxsplit=-1", "string.replace": "old, new, count=-1", "string.startswith": "prefix, start=0, end=None",
	"string.endswith": "suffix, start=0, end=None", "string.upper": "", "string.lower": "", "string.find": "sub, start=0, end=None", "string.count": "sub, start=0, end=None",
	"list.append": "x", "list.extend": "x", "list.insert": "index, x", "list.pop": "index=-1", "list.remove": "x", "list.clear": "",
	"dict.get": "key, default=None", "dict.pop": "key, default=None", "dict.keys": "", "dict.values": "", "dict.items": "", "dict.setdefault": "key, default=None", "dict.clear": "",
}

// received returns how many parameters of a method the receiver takes.
func (s *signature) received() int {
	if s.made().slots[0].IsTensor() && s.slots[0].Kind != op.Tensors {
		return 1
	}
	return 0
}

// ResultOf returns the name of the type of what an operator returns by its path:
// "Tensor", "list:Tensor" or "bool", "" if there may be several results.
func ResultOf(path string) string {
	owner, name := split(path)
	for _, s := range slices.Concat(functions(), methods()) {
		switch {
		case s.owner != owner || s.name != name:
			continue
		case s.def.Truth:
			return "bool"
		case s.def.List:
			return "list:Tensor"
		case s.def.Several():
			return ""
		}
		return "Tensor"
	}
	return ""
}

// ParamsOf returns the parameters of an operator by its path, nil of anything else and of one
// that is another with some arguments.
func ParamsOf(path string) []op.Param {
	owner, name := split(path)
	for _, s := range slices.Concat(functions(), methods()) {
		if s.owner == owner && s.name == name && s.def.Instead == "" {
			return s.def.Params
		}
	}
	return nil
}

// Owners returns the types of the language, ascending.
func Owners() []string {
	return slices.Sorted(maps.Keys(types()))
}

// BaseOf returns the type whose members values of a type have, too: the last one
// that Base leads to, of a type without Base itself.
func BaseOf(owner string) string {
	for rows[owner] != nil && rows[owner].Base != "" {
		owner = rows[owner].Base
	}
	return owner
}

// callOf is CallOf of an operator, whose first parameters have their arguments.
func (s *signature) callOf(first int) Call {
	c := Call{Keywords: map[string]bool{}, Rest: s.made().rest >= 0}
	for _, name := range s.parameters() {
		c.Keywords[name] = true
	}
	for _, p := range s.slots[first:] {
		c.Params = append(c.Params, p.Name)
		if p.Default == nil {
			c.Required = append(c.Required, p.Name)
		}
	}
	if s.instead != nil {
		c.orElse(s.instead.callOf(first))
	}
	c.addSynonyms()
	c.addOtherNames(s)
	return c
}

// orElse makes c one that is o with some arguments: see op.Def.Instead.
func (c *Call) orElse(o Call) {
	maps.Copy(c.Keywords, o.Keywords)
	c.Least = min(len(c.Required), len(o.Required))
	c.Required = slices.DeleteFunc(c.Required, func(name string) bool {
		return !slices.Contains(o.Required, name) || slices.Index(c.Params, name) != slices.Index(o.Params, name)
	})
	if len(o.Params) > len(c.Params) {
		c.Params = o.Params
	}
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
	list, ok := r.parameterList()
	if !ok || starlark.Universe.Has(r.Name) {
		return c, false
	}
	if strings.Contains(list, "...") && !strings.Contains(list, "=...") {
		return c, false
	}
	c = callFrom(list)
	if r.Name == "all_to_all" {
		c.Required = c.Params[:1] // of a list of tensors it takes no dims
	}
	return c, true
}

// callFrom returns what a list of parameters says as documentation has it, such as
// `x, *y, z=1, **w`.
func callFrom(list string) Call {
	c := Call{Keywords: map[string]bool{}}
	anything := false
	for _, p := range splitParameters(list) {
		name := parameterName(p)
		switch {
		case strings.HasPrefix(p, "**"):
			anything = true
		case strings.HasPrefix(p, "*"):
			c.Rest = true
		case name == "":
		default:
			c.Keywords[name] = true
			if !c.Rest {
				c.Params = append(c.Params, name)
			}
			if !strings.Contains(p, "=") {
				c.Required = append(c.Required, name)
			}
		}
	}
	c.addSynonyms()
	if anything {
		c.Keywords = nil
	}
	return c
}

// splitParameters cuts a list of parameters at its commas.
func splitParameters(list string) []string {
	var parts []string
	depth, start, quoted := 0, 0, false
	for i := range list {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(list[start:]))
}

// aliases are parameters that functions take by more than one name, of which the
// documentation has one.
var aliases = [][]string{
	{"data", "nested_list"}, {"device_mesh", "mesh", "_device_mesh"}, {"dtensor", "x"}, {"fn", "hook"}, {"global_shape", "shape"}, {"got", "a"}, {"group", "parallel_mode"}, {"name", "param_name"},
	{"op", "reduce_op"}, {"parallelize_plan", "plan"}, {"params", "parameters"}, {"pattern", "compute_pattern"}, {"prepare_input", "_prepare_input"},
	{"prepare_output", "_prepare_output"}, {"seed", "n"}, {"shape", "size"}, {"split_factor", "sf"}, {"state", "s"}, {"value", "fill_value"}, {"want", "b"},
	{"x", "input"}, {"x", "local_tensor"}, {"x", "obj"}, {"x", "tensor"},
}
