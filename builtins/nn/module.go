package nn

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

// A Module is a module of a network as scripts have it: parameters, other
// modules and other attributes under names, and a function of them and of what
// it is called with.
type Module struct {
	env      *builtins.Env
	Class    *class
	Value    starlark.Value    // what scripts have: the Module, or the listModule or dictModule it is in
	Fields   []Field           // in the order of definition
	at       map[string]int    // the place of each among fields
	forward  starlark.Callable // the script's, of a module of class Module; or nil
	training bool
	hooks    []*forwardHook // after a call
	ahead    []*forwardHook // and before it
	frozen   bool

	around  []Around    // what runs around forward, the first outermost
	outside []Around    // and around the whole of a call
	marks   map[any]any // what vocabularies note; see Mark
	onRead  func(x *builtins.Tensor) error
}

// A class is a kind of module.
type class struct {
	Name    string
	forward forwardFunc
	shows   []string // the fields that str(m) shows between parentheses
	bare    int      // how many of them, from the first, it shows without their names

	elements *elements   // of a list or a dict
	inverse  inverseFunc // of a parametrization: see parametrize.go
	methods  bool        // its modules have methods besides those of all, under its name
}

// A forwardFunc computes what a call of a module returns.
type forwardFunc func(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// An inverseFunc returns of what m, a parametrization, makes v.
type inverseFunc func(m *Module, v starlark.Value) ([]starlark.Value, error)

// A Field is an attribute of a module.
type Field struct {
	Name  string
	Kind  fieldKind
	Value starlark.Value
}

// A fieldKind says what a field is for. A field of a parameter, a module or a
// buffer keeps its kind while it is None, and that of a buffer with any tensor.
type fieldKind uint8

const (
	PlainField fieldKind = iota
	ParameterField
	ModuleField
	BufferField    // a tensor that is in the state and no parameter
	TransientField // a buffer that is not in the state
	ComputedField  // a parameter that is computed of others whenever it is read: its Value is None
)

var (
	_ starlark.Callable    = (*Module)(nil)
	_ starlark.HasSetField = (*Module)(nil)
	_ arg.Described        = (*Module)(nil)
)

// newModule returns a module of class c without fields.
func newModule(e *builtins.Env, c *class) *Module {
	m := &Module{env: e, Class: c, at: map[string]int{}, training: true}
	m.Value = m
	return m
}

// ModuleOf returns the Module of a value that is one, or nil.
func ModuleOf(v starlark.Value) *Module {
	if is, ok := v.(interface{ module() *Module }); ok {
		return is.module()
	}
	return nil
}

// module returns m: values that embed a Module are modules by it.
func (m *Module) module() *Module { return m }

// Runs reports whether m can be called. What only holds modules cannot, as a ModuleList, nor a Module
// that was made without a forward function.
func (m *Module) Runs() bool {
	switch {
	case m.Class.elements != nil:
		return m.Class == SequentialClass
	case m.Class == ScriptClass:
		return m.forward != nil
	}
	return true
}

// Type returns the name of the class: "Linear".
func (m *Module) Type() string          { return m.Class.Name }
func (m *Module) Name() string          { return m.Class.Name }
func (m *Module) Truth() starlark.Bool  { return true }
func (m *Module) Hash() (uint32, error) { return 0, builtins.Unhashable(m) }

// Owner implements owned.
func (m *Module) Owner() string { return "Module" }

// Freeze makes the module read-only: it belongs to a loaded file.
func (m *Module) Freeze() {
	if m.frozen {
		return
	}
	m.frozen = true
	for _, f := range m.Fields {
		f.Value.Freeze()
	}
	for _, h := range slices.Concat(m.ahead, m.hooks) {
		h.fn.Freeze()
	}
	if m.forward != nil {
		m.forward.Freeze()
	}
}

// MayChange returns an error of the function fn if the module is frozen.
func (m *Module) MayChange(fn string) error {
	if !m.frozen {
		return nil
	}
	return &op.ArgError{Func: fn, Got: "a frozen module " + m.Describe(), Want: "one that may be changed", Rule: "it belongs to a loaded file: build it in a function"}
}

// Attr implements starlark.HasAttrs.
func (m *Module) Attr(name string) (starlark.Value, error) {
	if i, ok := m.at[name]; ok {
		return m.read(&m.Fields[i])
	}
	if m.Class.methods {
		if v, err := m.env.Attr(m.Class.Name, m.Value, name); v != nil || err != nil {
			return v, err
		}
	}
	return m.env.Attr("Module", m.Value, name)
}

// read returns the value of a field to a script: what is computed for it, or what it holds,
// after what OnRead has called for a parameter.
func (m *Module) read(f *Field) (starlark.Value, error) {
	if f.Kind == ComputedField {
		return m.seen(f.Name)
	}
	if x, ok := f.Value.(*builtins.Tensor); ok && f.Kind == ParameterField && m.onRead != nil {
		return x, m.onRead(x)
	}
	return f.Value, nil
}

// AttrNames implements starlark.HasAttrs.
func (m *Module) AttrNames() []string {
	names := slices.Clone(builtins.AttrNames("Module"))
	if m.Class.methods {
		names = append(names, builtins.AttrNames(m.Class.Name)...)
	}
	for _, f := range m.Fields {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// OnRead has read called with a parameter of the module itself whenever a script
// reads it, as an attribute or as an element of a list or dict of parameters.
func (m *Module) OnRead(read func(x *builtins.Tensor) error) { m.onRead = read }

// Get returns the value of a field, or nil. An error of computing it is left with the rank.
func (m *Module) Get(name string) starlark.Value {
	i, ok := m.at[name]
	if !ok {
		return nil
	}
	if m.Fields[i].Kind != ComputedField {
		return m.Fields[i].Value
	}
	v, err := m.seen(name)
	if err != nil {
		m.env.Leave(err)
	}
	return v
}

// SetField implements starlark.HasSetField: it assigns a field, or training.
func (m *Module) SetField(name string, v starlark.Value) error {
	fn := m.Class.Name + "." + name
	if err := m.MayChange(fn); err != nil {
		return err
	}
	if name == "training" {
		return arg.Set(fn, "", (*arg.Bool)(&m.training), v)
	}
	return arg.In(fn, "", m.assign(name, v))
}

// assign gives the field called name the value v. A Parameter makes it a
// parameter, a module a child; other values a plain field, unless it is one of
// these, which takes None besides.
func (m *Module) assign(name string, v starlark.Value) error {
	switch {
	case builtins.IsMember("Module", name):
		return arg.Bad(v, "another name for it", "every module has ."+name)
	case name == "" || strings.Contains(name, "."):
		return arg.Bad(v, "a name without dots for it", "paths are names joined by dots")
	}
	kind, of := PlainField, PlainField
	x, isTensor := v.(*builtins.Tensor)
	if isTensor && x.Parameter {
		kind = ParameterField
	} else if isTensor && x.Buffered {
		kind = bufferKind(!x.Transient)
	} else if child := ModuleOf(v); child != nil {
		if child.contains(m) {
			return arg.Bad(v, "another module", "it contains this one")
		}
		kind = ModuleField
	}
	if i, ok := m.at[name]; ok {
		of = m.Fields[i].Kind
	}
	switch {
	case of == ComputedField:
		return m.setComputed(name, v)
	case kind != PlainField || of == PlainField:
	case v == starlark.None, isTensor && of.isBuffer():
		kind = of
	case of == ParameterField && isTensor && x.OwnOperators(): // a ColoTensor stands in the place of a parameter, and is none
	case of.isBuffer():
		return arg.Bad(v, "a tensor or None", "it is a buffer")
	case of == ParameterField:
		return arg.Bad(v, "a Parameter or None", "nn.Parameter(t) makes one")
	case of == ModuleField:
		return arg.Bad(v, "a module or None", "")
	}
	m.Put(Field{name, kind, v})
	return nil
}

// Put adds f, or puts it in the place of the field of its name.
func (m *Module) Put(f Field) {
	if i, ok := m.at[f.Name]; ok {
		m.Fields[i] = f
		return
	}
	m.at[f.Name] = len(m.Fields)
	m.Fields = append(m.Fields, f)
}

// drop removes the field called name.
func (m *Module) drop(name string) {
	i := m.at[name]
	m.Fields = slices.Delete(m.Fields, i, i+1)
	delete(m.at, name)
	for k := i; k < len(m.Fields); k++ {
		m.at[m.Fields[k].Name] = k
	}
}

// children returns the fields that are modules.
func (m *Module) children() []*Field {
	var list []*Field
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Kind == ModuleField && f.Value != starlark.None {
			list = append(list, f)
		}
	}
	return list
}

// contains reports whether m is other or has it below.
func (m *Module) contains(other *Module) bool {
	found := false
	m.walk("", func(_ string, sub *Module) { found = found || sub == other })
	return found
}

// walk calls f with m and, in the order of definition, with every module below
// it and the path to it, from prefix on. A module that stands in several places
// comes up in each.
func (m *Module) walk(prefix string, f func(path string, m *Module)) {
	f(prefix, m)
	for _, fd := range m.Fields {
		if child := ModuleOf(fd.Value); child != nil && fd.Kind == ModuleField {
			child.walk(builtins.JoinPath(prefix, fd.Name), f)
		}
	}
}

// PathOf implements runtime.Part.
func (m *Module) PathOf(other runtime.Part) (path string, ok bool) {
	m.walk("", func(at string, sub *Module) {
		if !ok && sub != m && sub == other {
			path, ok = at, true
		}
	})
	return path, ok
}

// A NamedModule is a module and its path.
type NamedModule struct {
	Path string
	M    *Module
}

// Modules returns m and the modules below it, each once.
func (m *Module) Modules(prefix string) []NamedModule {
	var list []NamedModule
	seen := map[*Module]bool{}
	m.walk(prefix, func(path string, m *Module) {
		if !seen[m] {
			seen[m] = true
			list = append(list, NamedModule{path, m})
		}
	})
	return list
}

// A NamedTensor is a parameter and its path.
type NamedTensor struct {
	Path string
	X    *builtins.Tensor
}

// Own returns the parameters of m itself, at path.
func (m *Module) Own(path string) []NamedTensor {
	var list []NamedTensor
	for _, f := range m.Fields {
		if x, ok := f.Value.(*builtins.Tensor); ok && f.Kind == ParameterField {
			list = append(list, NamedTensor{builtins.JoinPath(path, f.Name), x})
		}
	}
	return list
}

// Parameters returns the parameters of m and, with recurse, of the modules
// below it, each once.
func (m *Module) Parameters(prefix string, recurse bool) []NamedTensor {
	return m.tensors(prefix, recurse, (*Module).Own)
}

// tensors returns what own returns of m and, with recurse, of the modules below it, each
// tensor once.
func (m *Module) tensors(prefix string, recurse bool, own func(m *Module, path string) []NamedTensor) []NamedTensor {
	var list []NamedTensor
	seen := map[*builtins.Tensor]bool{}
	for _, sub := range m.Modules(prefix) {
		if sub.M != m && !recurse {
			continue
		}
		for _, x := range own(sub.M, sub.Path) {
			if !seen[x.X] {
				seen[x.X] = true
				list = append(list, x)
			}
		}
	}
	return list
}

// CallInternal implements starlark.Callable.
func (m *Module) CallInternal(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	defer builtins.EnvOf(thread).Runtime.EnterPart(m)()
	defer builtins.Enter(m.env, m)()
	if len(m.outside) == 0 {
		return m.run(thread, args, kwargs)
	}
	return within(m.outside, m.run)(thread, args, kwargs)
}

// run computes what the module returns, and lets its hooks see and replace that, and
// before it the arguments by position, in the order in which they were registered.
func (m *Module) run(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	for _, h := range slices.Clone(m.ahead) {
		v, err := starlark.Call(thread, h.fn, starlark.Tuple{m.Value, args}, nil)
		if err != nil {
			return nil, err
		}
		if list, ok := v.(starlark.Tuple); ok {
			args = list
		} else if v != starlark.None {
			args = starlark.Tuple{v}
		}
	}
	out, args, err := m.compute(thread, args, kwargs)
	if err != nil {
		return nil, err
	}
	for _, h := range slices.Clone(m.hooks) {
		v, err := starlark.Call(thread, h.fn, starlark.Tuple{m.Value, args, out}, nil)
		if err != nil {
			return nil, err
		}
		if v != starlark.None {
			out = v
		}
	}
	return out, nil
}

// compute returns what forward does with what runs around it, and the arguments by
// position that came to forward.
func (m *Module) compute(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (out starlark.Value, came starlark.Tuple, err error) {
	if len(m.around) == 0 {
		out, err = m.Class.forward(m, thread, args, kwargs)
		return out, args, err
	}
	out, err = within(m.around, func(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		came = args
		return m.Class.forward(m, thread, args, kwargs)
	})(thread, args, kwargs)
	return out, came, err
}

// callField calls the field called name, a module or a function.
func (m *Module) callField(thread *starlark.Thread, name string, args ...starlark.Value) (starlark.Value, error) {
	return m.callFieldWith(thread, name, nil, args...)
}

// callFieldWith is callField with arguments by name.
func (m *Module) callFieldWith(thread *starlark.Thread, name string, kwargs []starlark.Tuple, args ...starlark.Value) (starlark.Value, error) {
	fn, ok := m.Get(name).(starlark.Callable)
	if !ok {
		return nil, &op.ArgError{Func: m.Class.Name + "." + name, Got: arg.Show(m.Get(name)), Want: "a module or a function"}
	}
	return starlark.Call(thread, fn, args, kwargs)
}
