package builtins

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.starlark.net/starlark"

	"tpsh/runtime/op"
)

// A Row is one name of the language that is no operator.
type Row struct {
	// Name is as scripts write it: "all_reduce", "assert.eq", "Group.size",
	// "Tensor.shape". The owner of a dotted name is a namespace, whose
	// attribute it is, or a type, whose values have it.
	Name string
	// Namespace says that the name is an owner of others, which are its own
	// attributes. An owner without a row is a namespace if its first letter
	// is small, and a type if it is not.
	Namespace bool
	// Static says that the name is an attribute of the function that makes
	// values of a type, and not of these values.
	Static bool
	// Base is, of a type, another one whose members its values have, too. That of
	// every type of tensors leads to "Tensor".
	Base string
	// Communicates says of a function that its calls communicate, which faults can
	// strike.
	Communicates bool
	// Doc is what `tpsh doc` prints: a first line `name(params) returns ...`
	// or, for an attribute, `name is ...`; then shapes, errors and an example.
	Doc string
	// MakeDoc, if set, makes what stands for Doc, where that is put together: few processes ask
	// for it, and all fill the table when they start.
	MakeDoc func() string
	// Fn carries out a call of a function, or of a method, whose receiver is
	// b.Receiver().
	Fn Function
	// Value makes a constant, which cannot be changed, instead of Fn.
	Value func() starlark.Value
	// Own makes a constant of the rank's own, instead of Fn.
	Own func(e *Env) starlark.Value
	// Get reads an attribute of the value x of a type, instead of Fn.
	Get func(e *Env, x starlark.Value) (starlark.Value, error)
}

// A Function is a builtin of the rank whose Env is e.
type Function func(e *Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

var rows = make(map[string]*Row, 1024)

// The rows by what their names are of, "" for nothing: all, those of constants that each rank has of
// its own, and those of static attributes.
var byOwner, ownRows, staticRows = map[string][]*Row{}, map[string][]*Row{}, map[string][]*Row{}

// Register adds rows to the tables. It panics if a name is taken.
func Register(list ...*Row) {
	for _, r := range list {
		if rows[r.Name] != nil {
			panic("builtins: " + r.Name + " registered twice")
		}
		owner, _ := split(r.Name)
		if owner == "assert" && r.Fn != nil {
			r.Fn = withMsg(r)
		}
		rows[r.Name] = r
		byOwner[owner] = append(byOwner[owner], r)
		if r.Own != nil {
			ownRows[owner] = append(ownRows[owner], r)
		}
		if r.Static {
			staticRows[owner] = append(staticRows[owner], r)
		}
	}
}

// Text returns the documentation of r.
func (r *Row) Text() string {
	if r.MakeDoc != nil {
		return r.MakeDoc()
	}
	return r.Doc
}

// Rows returns the table, by name.
func Rows() []*Row {
	list := make([]*Row, 0, len(rows))
	for _, r := range rows {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Row) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// split returns the owner of a name, or "", and the name without it.
func split(name string) (owner, rest string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// isNamespace reports whether owner is a namespace; see Row.Namespace.
func isNamespace(owner string) bool {
	if r := rows[owner]; r != nil {
		return r.Namespace
	}
	return owner[0] >= 'a' && owner[0] <= 'z'
}

// Predeclared returns the names of the language that need no load. The dict is
// the caller's.
func (e *Env) Predeclared() starlark.StringDict {
	names := maps.Clone(universe())
	for owner, list := range ownRows {
		if owner == "" {
			addOwn(e, names, list)
			continue
		}
		shared := names[owner].(*namespace)
		names[owner] = newNamespace(owner, func() starlark.StringDict {
			members := maps.Clone(shared.members())
			addOwn(e, members, list)
			return members
		})
	}
	if e.Options.In != "" {
		addInputs(e, names)
	}
	if e.Planning() {
		withUnknown(e, names)
	}
	if e.Runtime.Alike() {
		withVarying(e, names)
	}
	return names
}

// addOwn adds the rank's own constants to names.
func addOwn(e *Env, names starlark.StringDict, list []*Row) {
	for _, r := range list {
		_, name := split(r.Name)
		names[name] = r.Own(e)
	}
}

// universe holds the names of the language with the values that all ranks share:
// none of them can be changed, and functions find the rank by the thread. It is
// made once the tables are complete.
var universe = sync.OnceValue(func() starlark.StringDict { return namesOf("") })

// namesOf returns what all ranks share of a namespace, "" for the names that need none. The
// members of those within are not made: a process that starts needs few of them.
func namesOf(space string) starlark.StringDict {
	operators := signatures(op.SurfaceOf(space), space)
	names := make(starlark.StringDict, 2*len(operators))
	for _, f := range operators {
		names[f.name] = f.function()
	}
	inner := map[string]bool{} // namespaces
	for _, s := range op.Spaces {
		addInner(inner, space, s.Script)
	}
	for owner, list := range byOwner {
		switch {
		case owner == space:
			for _, r := range list {
				if v := r.value(); v != nil {
					_, name := split(r.Name)
					names[name] = v
				}
			}
		case owner != "" && isNamespace(owner) && slices.ContainsFunc(list, (*Row).stands):
			addInner(inner, space, owner)
		}
	}
	for name := range inner {
		full := name
		if space != "" {
			full = space + "." + name
		}
		names[name] = newNamespace(full, func() starlark.StringDict { return namesOf(full) })
	}
	for owner := range staticRows {
		if in, name := split(owner); in == space {
			names[name] = constructorOf(owner, names[name].(*starlark.Builtin))
		}
	}
	return names
}

// addInner adds to list the namespace that leads from the one called space to the one
// called full, if that is within it.
func addInner(list map[string]bool, space, full string) {
	if space != "" {
		var within bool
		if full, within = strings.CutPrefix(full, space+"."); !within {
			return
		}
	}
	name, _, _ := strings.Cut(full, ".")
	list[name] = true
}

// A constructor is a function that makes values of a type, and has attributes:
// what are static methods in Python.
type constructor struct {
	*starlark.Builtin
	members starlark.StringDict
}

var (
	_ starlark.Callable = (*constructor)(nil)
	_ starlark.HasAttrs = (*constructor)(nil)
)

// ConstructorOf returns the function called name with its static attributes, to stand
// in a namespace, too.
func ConstructorOf(name string) starlark.Value {
	return constructorOf(name, Lookup(name).(*starlark.Builtin))
}

// constructorOf returns the function f, whose row is called name, with its static attributes.
func constructorOf(name string, f *starlark.Builtin) starlark.Value {
	members := starlark.StringDict{}
	for _, r := range staticRows[name] {
		_, rest := split(r.Name)
		members[rest] = r.value()
	}
	return &constructor{f, members}
}

// stands reports whether the name stands for something, and is no documentation of Starlark's own.
func (r *Row) stands() bool { return r.Fn != nil || r.Value != nil || r.Own != nil }

// Attr implements starlark.HasAttrs.
func (c *constructor) Attr(name string) (starlark.Value, error) {
	if v := c.members[name]; v != nil {
		return v, nil
	}
	return nil, noMember(c.Name(), name, c.members.Keys())
}

// AttrNames implements starlark.HasAttrs.
func (c *constructor) AttrNames() []string { return c.members.Keys() }

// value returns what the name of the row stands for on every rank; nil for a
// namespace, and for what each rank has of its own.
func (r *Row) value() starlark.Value {
	switch {
	case r.Fn != nil:
		return r.function(r.Name)
	case r.Value != nil:
		return r.Value()
	}
	return nil
}

// function returns the row as a function, under name, of whatever rank calls it.
func (r *Row) function(name string) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (_ starlark.Value, err error) {
		defer guard(&err)
		e := EnvOf(thread)
		if e.varied && !keeping[r.Name] {
			args, kwargs = settledArgs(e, args, kwargs)
		}
		return r.Fn(e, thread, b, args, kwargs)
	})
}

// A typeMember is a name that the values of a type have.
type typeMember struct {
	method *starlark.Builtin // without a receiver; or
	get    func(e *Env, x starlark.Value) (starlark.Value, error)
}

// A typeTable holds the members of a type, each made when it is first asked for: of the
// hundreds that a tensor has, a script uses few.
type typeTable struct {
	owner string
	mu    sync.Mutex                             // held to make a member
	made  atomic.Pointer[map[string]*typeMember] // never changed: a member more is another map
	names func() []string                        // of all, ascending
}

// types holds the types of the language. It is made once the tables are complete.
var types = sync.OnceValue(func() map[string]*typeTable {
	all := map[string]*typeTable{}
	for owner, list := range byOwner {
		if owner != "" && !isNamespace(owner) && slices.ContainsFunc(list, (*Row).ofValues) {
			t := &typeTable{owner: owner, names: sync.OnceValue(func() []string { return membersOf(owner) })}
			t.made.Store(&map[string]*typeMember{})
			all[owner] = t
		}
	}
	return all
})

// ofValues reports whether the row of a type is a name that its values have.
func (r *Row) ofValues() bool { return !r.Static }

// membersOf returns the names that the values of a type have, ascending. It panics if two are
// the same.
func membersOf(owner string) (names []string) {
	if owner == "Tensor" {
		for _, f := range methods() {
			names = append(names, f.name)
		}
	}
	for _, r := range byOwner[owner] {
		if r.ofValues() {
			_, name := split(r.Name)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names[min(1, len(names)):] {
		if name == names[i] {
			panic("builtins: " + owner + "." + name + " registered twice")
		}
	}
	return names
}

// member returns what the values of the type have under name; nil for nothing.
func (t *typeTable) member(name string) *typeMember {
	if m := (*t.made.Load())[name]; m != nil {
		return m
	}
	m := t.find(name)
	if m == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	made := *t.made.Load()
	if m := made[name]; m != nil { // by another rank
		return m
	}
	made = maps.Clone(made)
	made[name] = m
	t.made.Store(&made)
	return m
}

// find makes the member called name; nil if there is none.
func (t *typeTable) find(name string) *typeMember {
	if r := rows[t.owner+"."+name]; r != nil && r.ofValues() {
		return r.member(name)
	}
	if t.owner != "Tensor" {
		return nil
	}
	if d := op.Named(op.Method, name); d != nil {
		return &typeMember{method: (&signature{def: d, owner: t.owner, name: name}).method()}
	}
	return nil
}

// member returns what the values of r's owner have under name.
func (r *Row) member(name string) *typeMember {
	if r.Fn == nil {
		return &typeMember{get: r.Get}
	}
	return &typeMember{method: r.function(name)}
}

// Attr implements starlark.HasAttrs of the value x of the type called owner.
// It returns nil for an unknown name, and the interpreter suggests a spelling.
func (e *Env) Attr(owner string, x starlark.Value, name string) (starlark.Value, error) {
	m := types()[owner].member(name)
	switch {
	case m == nil:
		return nil, nil
	case m.method != nil:
		return m.method.BindReceiver(x), nil
	case m.get != nil:
		return m.get(e, x)
	}
	return nil, nil
}

// IsMember reports whether the values of the type called owner have a member called
// name.
func IsMember(owner, name string) bool { return types()[owner].member(name) != nil }

// Lookup returns the value of the row called name, which is there and is a function
// or a constant.
func Lookup(name string) starlark.Value { return rows[name].value() }

// FunctionOf returns the function called name, without dots, that scripts have by that
// name: the two are equal.
func FunctionOf(name string) starlark.Callable { return universe()[name].(starlark.Callable) }

// IsRow reports whether name, in full, is one of the table.
func IsRow(name string) bool { return rows[name] != nil }

// AttrNames returns the names that the values of the type called owner have.
func AttrNames(owner string) []string { return types()[owner].names() }
