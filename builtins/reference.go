package builtins

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"tpsh/runtime/op"
)

// An entry is a name of the language with its documentation, from whichever
// table.
type entry struct {
	name   string // in full: "matmul", "F.relu", "Tensor.sum"
	doc    string
	params []op.Param // of an operator
}

// entries returns every name of the language, ascending.
var entries = sync.OnceValue(func() []*entry {
	var list []*entry
	for _, r := range rows {
		list = append(list, &entry{name: r.Name, doc: r.Text()})
	}
	for _, s := range slices.Concat(functions(), methods()) {
		list = append(list, s.entry())
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	return list
})

// entriesByName holds every entry by its name in full, and by its name without the
// owner where that is no name in full: that of a tensor, or the first.
var entriesByName = sync.OnceValue(func() map[string]*entry {
	found := map[string]*entry{}
	for _, e := range entries() {
		if _, rest := split(e.name); found[rest] == nil || strings.HasPrefix(e.name, "Tensor.") {
			found[rest] = e
		}
	}
	for _, e := range entries() {
		found[e.name] = e
	}
	return found
})

// entry returns the entry of an operator.
func (s *signature) entry() *entry {
	name := s.name
	if s.owner != "" {
		name = s.owner + "." + name
	}
	return &entry{name: name, doc: s.def.Text(), params: s.def.Params}
}

// Names returns every name of the language, in full and ascending: "matmul",
// "F.relu", "Tensor.sum".
func Names() []string {
	names := make([]string, len(entries()))
	for i, e := range entries() {
		names[i] = e.name
	}
	return names
}

// Doc returns the documentation of a name of the language, in full or without
// its owner: "Tensor.sum" or "sum". What the values of a type have of another is
// found there: "ColoTensor.sum".
func Doc(name string) (string, bool) {
	if e := entriesByName()[name]; e != nil {
		return e.text(), true
	}
	owner, rest := split(name)
	if r := rows[owner]; r != nil && r.Base != "" {
		return Doc(r.Base + "." + rest)
	}
	return "", false
}

// parts cuts a documentation into its text and its example.
func (e *entry) parts() (text, example string) {
	if i := strings.Index(e.doc, "\n>>> "); i >= 0 {
		return e.doc[:i], e.doc[i+1:]
	}
	return e.doc, ""
}

// text returns the documentation with what each parameter takes.
func (e *entry) text() string {
	text, example := e.parts()
	for _, p := range e.params {
		text += fmt.Sprintf("\n  %s: %s", p.Name, describeParam(&p))
	}
	if example != "" {
		text += "\n" + example
	}
	return text
}

// WriteReference writes the reference page, in Markdown.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString(referenceHead)
	byOwner := map[string][]*entry{}
	var owners []string
	for _, e := range entries() {
		owner, _ := split(e.name)
		if byOwner[owner] == nil {
			owners = append(owners, owner)
		}
		byOwner[owner] = append(byOwner[owner], e)
	}
	sort.Strings(owners) // "" first
	for _, owner := range owners {
		fmt.Fprintf(&b, "\n## %s\n", ownerTitle(owner))
		for _, e := range byOwner[owner] {
			e.markdown(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const referenceHead = `# Reference

Every name of the language, made from its tables by ` + "`go test ./builtins -run Reference -update`" + `.
The examples are run by the tests; what stands after ` + "`>>>`" + ` is typed, what follows is its output.
` + "`tpsh doc NAME`" + ` prints one entry.
`

// ownerTitle is the heading of the names of owner.
func ownerTitle(owner string) string {
	switch {
	case owner == "":
		return "Predeclared names"
	case isNamespace(owner):
		return "Names of `" + owner + "`"
	}
	return "Names of values of type `" + owner + "`"
}

// markdown writes the entry.
func (e *entry) markdown(b *strings.Builder) {
	text, example := e.parts()
	first, rest, _ := strings.Cut(text, "\n")
	fmt.Fprintf(b, "\n### %s\n\n", e.name)
	if end := strings.Index(first, ") "); end >= 0 && !strings.Contains(first[:end], " is ") {
		fmt.Fprintf(b, "`%s` %s\n", first[:end+1], first[end+2:])
	} else {
		fmt.Fprintln(b, first)
	}
	if rest != "" {
		fmt.Fprintln(b, rest)
	}
	if len(e.params) > 0 {
		fmt.Fprintln(b)
	}
	for _, p := range e.params {
		fmt.Fprintf(b, "- `%s`: %s\n", p.Name, describeParam(&p))
	}
	if example != "" {
		fmt.Fprintf(b, "\n```python\n%s\n```\n", example)
	}
}

// An owned value has the members of a type that is not called what the value
// says its type is: the type of an nn.Linear is "Linear", the owner "Module".
type owned interface{ Owner() string }

// builtinParameters returns the parameters of a builtin of the language.
func builtinParameters(b *starlark.Builtin) []string {
	name := b.Name()
	list := functions()
	if r := b.Receiver(); r != nil {
		list = methods()
		switch r := r.(type) {
		case *Tensor:
			for _, owner := range r.owners() {
				if row := rows[owner+"."+name]; row != nil {
					return row.parameters()
				}
			}
			name = "Tensor." + name
		case owned:
			name = r.Owner() + "." + name
		default:
			name = r.Type() + "." + name
		}
	}
	if r := rows[name]; r != nil {
		return r.parameters()
	}
	for _, s := range list {
		if s.name == b.Name() {
			return s.parameters()
		}
	}
	return nil
}

// parameterList returns what stands between the parentheses of the first line of the
// documentation of a function or method. It is not ok of anything else.
func (r *Row) parameterList() (list string, ok bool) {
	first, _, _ := strings.Cut(r.Text(), "\n")
	open, end := strings.IndexByte(first, '('), strings.Index(first, ") ")
	if open < 0 || end < open || r.Fn == nil {
		return "", false
	}
	return first[open+1 : end], true
}

// parameters returns the names of the parameters of a function or method that may be keywords.
func (r *Row) parameters() []string {
	list, ok := r.parameterList()
	if !ok {
		return nil
	}
	var names []string
	for _, p := range splitParameters(list) {
		if name := parameterName(p); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// parameterName returns the name of a parameter as documented, `dim=None`;
// "" for one that is no keyword, such as `*shape`.
func parameterName(text string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(text), "=")
	if strings.ContainsAny(name, "*. ") {
		return ""
	}
	return name
}

func init() {
	Register(
		&Row{Name: "json", Namespace: true, Doc: "json is Starlark's module of JSON: json.encode(x), json.decode(s), json.indent(s).\nTensors are encoded as nested lists.\n>>> json.encode({\"x\": tensor([[1, 2]])})\n\"{\\\"x\\\":[[1,2]]}\""},
		&Row{Name: "math", Namespace: true, Doc: "math is Starlark's module of functions of numbers: math.sqrt(x), math.floor(x), math.pi, ..."},
		&Row{Name: "struct", Doc: "struct(**kwargs) returns a value with the given attributes.\n>>> struct(a=1, b=2).b\n2"},
		&Row{Name: "module", Doc: "module(name, **kwargs) returns a module with the given attributes.\n>>> module(\"m\", a=1).a\n1"},
		&Row{Name: "fft", Namespace: true, Doc: "fft is the module of discrete Fourier transforms. They are computed in complex128, and differentiable. Of DTensors dims that are not transformed stay cut."},
		&Row{Name: "linalg", Namespace: true, Doc: "linalg is the module of decompositions and solutions of matrices. They are computed in float64. Of DTensors a batch may be cut along leading dims; matrices that are cut are gathered."},
		&Row{Name: "special", Namespace: true, Doc: "special is the module of special functions, elementwise. They are computed in float64 and rounded."},
		&Row{Name: "masked", Namespace: true, Doc: "masked is the module of operators on those elements of a tensor where a mask is true: what is left out counts as if it were not there."},
		&Row{Name: "F", Namespace: true, Doc: "F is the module of functions for neural networks."},
		&Row{Name: "Tensor", Doc: "Tensor is the type of tensors, as tensor() and the operators make them; it has no name in a script.\n" +
			"x + y, -, *, /, //, %, -x, and of integers and truths &, |, ^, ~x work element by\n" +
			"element, with broadcasting; a side may be a number. x += y makes a new tensor.\n" +
			"Comparisons are methods: .eq() and the like give truths, .equal() and .allclose() one\n" +
			"answer. x[i], x[1:-1, 0] and x[..., None] are views, x[indices], x[mask] and mixtures copies;\n" +
			"all can be assigned to. x @ y is matmul, x ** y pow. len(x), iteration and slices\n" +
			"go over dim 0. float(x), int(x), bool(x) and `if x` take tensors of one element.\n" +
			">>> x = tensor([[1, 2], [3, 4]])\n>>> (x * 10 - x[0]).tolist()\n[[9, 18], [29, 38]]"},
	)
}

// describeParam says what a parameter takes.
func describeParam(p *op.Param) string {
	if len(p.Choices) == 0 {
		return p.Doc
	}
	text := oneOf(p.Choices)
	if p.Doc != "" {
		text = p.Doc + ": " + text
	}
	return text
}
