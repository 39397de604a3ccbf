package nn

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Parameters that are computed of others whenever they are read. A module with one has a
// ComputedField in the place of the parameter, and a ModuleDict "parametrizations", which
// holds for its name a ParametrizationList: the parameters that are learned instead
// ("original", or "original0" and further ones), and the modules "0", "1", ... of which
// the first is called with them and each further one with what the one before returned.

// parametrizationsField is the name of the field with what computes others.
const parametrizationsField = "parametrizations"

// parametrizationListClass is the class of what computes one parameter.
var parametrizationListClass = &class{Name: "ParametrizationList", forward: computeParameter, elements: moduleElements}

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.utils.parametrize", Namespace: true,
		Doc: "nn.utils.parametrize is the module of functions that have a parameter computed of others.",
	}, &builtins.Row{
		Name: "nn.utils.parametrize.register_parametrization",
		Doc: "register_parametrization(module, tensor_name, parametrization, unsafe=False) has a parameter of a module computed by another module, whenever it is read, and returns the module.\n" +
			"What is learned is called parametrizations.NAME.original then: it is what the parameter\n" +
			"was, or what the function right_inverse of the parametrization returns of it, if it has\n" +
			"one. If that is a tuple its elements are original0, original1, ..., and are the arguments.\n" +
			"A parametrization of what has one already computes with what that returns. Shape and\n" +
			"dtype of the result are those of the parameter, unless it is unsafe. An assignment to\n" +
			"the parameter goes through right_inverse.\n" +
			">>> m = nn.Linear(2, 2, bias=False)\n" +
			">>> nn.utils.parametrize.register_parametrization(m, \"weight\", nn.Module(forward=lambda self, w: w.triu()))\n" +
			"ParametrizedLinear(\n  in_features=2, out_features=2, bias=False\n  (parametrizations): ModuleDict(\n    (weight): ParametrizationList(\n      (0): Module()\n    )\n  )\n)\n" +
			">>> m.weight[1, 0].item(), list(m.state_dict())\n(0.0, [\"parametrizations.weight.original\"])",
		Fn: registerParametrization,
	}, &builtins.Row{
		Name: "nn.utils.parametrize.remove_parametrizations",
		Doc: "remove_parametrizations(module, tensor_name, leave_parametrized=True) makes a computed parameter one that is learned itself again, and returns the module. Its value is what was computed, or else the original.\n" +
			">>> m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))\n" +
			">>> list(nn.utils.parametrize.remove_parametrizations(m, \"weight\").state_dict())\n[\"weight\", \"bias\"]",
		Fn: removeParametrizations,
	}, &builtins.Row{
		Name: "nn.utils.parametrize.is_parametrized",
		Doc: "is_parametrized(module, tensor_name=None) reports whether a parameter of a module, or any, is computed.\n" +
			">>> nn.utils.parametrize.is_parametrized(nn.Linear(2, 2))\nFalse",
		Fn: isParametrized,
	}, &builtins.Row{
		Name: "ParametrizationList", Base: "Module", Doc: "ParametrizationList is the type of what computes a parameter: a list of modules, and what is learned.",
	})
}

// A parametrized is an argument of the functions for computed parameters: a parameter of a module.
type parametrized struct {
	fn   string
	m    *Module
	name string
}

// unpackParametrized reads module and the name of a tensor, by the parameter called named, and more.
func unpackParametrized(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, named string, more ...any) (*parametrized, error) {
	var (
		m    starlark.Value
		name = arg.String("weight")
	)
	if err := arg.Unpack(b.Name(), args, kwargs, append([]any{"module", &m, named, &name}, more...)...); err != nil {
		return nil, err
	}
	p := &parametrized{b.Name(), ModuleOf(m), string(name)}
	if p.m == nil {
		return nil, arg.In(p.fn, "module", arg.Bad(m, "a module", ""))
	}
	return p, p.m.MayChange(p.fn)
}

// parameter returns the parameter, which is not computed.
func (p *parametrized) parameter(param string) (*builtins.Tensor, error) {
	if i, ok := p.m.at[p.name]; ok && p.m.Fields[i].Kind == ParameterField {
		if x, ok := p.m.Fields[i].Value.(*builtins.Tensor); ok {
			return x, nil
		}
	}
	var names []string
	for _, own := range p.m.Own("") {
		names = append(names, own.Path)
	}
	rule := "it has none"
	if names != nil {
		rule = "it has " + builtins.QuotedNames(names)
	}
	return nil, arg.In(p.fn, param, arg.Bad(starlark.String(p.name), "the name of a parameter of "+p.m.Describe(), rule))
}

// add has the parameter computed by sub of originals, which are learned instead. Unless it
// is unsafe the result has the shape and the dtype of x, which the parameter was.
func (p *parametrized) add(x *builtins.Tensor, sub *Module, originals []starlark.Value, unsafe bool) error {
	list := newList(p.m.env, parametrizationListClass)
	list.training = p.m.training
	for i, v := range originals {
		name := "original"
		if len(originals) > 1 {
			name = fmt.Sprint("original", i)
		}
		list.Put(Field{name, ParameterField, v})
	}
	list.Put(Field{"0", ModuleField, sub.Value})
	if err := p.fits(x, list.Value, unsafe); err != nil {
		return err
	}
	own := p.m.Get(parametrizationsField)
	all, ok := own.(*dictModule)
	if !ok && own != nil {
		return arg.In(p.fn, "module", arg.Bad(p.m.Value, "a module without a field of its own called "+parametrizationsField, "that is where what is learned goes"))
	}
	if !ok {
		all = newDict(p.m.env, moduleDictClass)
		all.training = p.m.training
		p.m.Put(Field{parametrizationsField, ModuleField, all})
	}
	all.Put(Field{p.name, ModuleField, list})
	p.m.Put(Field{p.name, ComputedField, starlark.None})
	return nil
}

// fits returns an error unless what list computes is as x, in shape and dtype.
func (p *parametrized) fits(x *builtins.Tensor, list starlark.Value, unsafe bool) error {
	t, err := x.Tensor()
	if err != nil || unsafe {
		return err
	}
	defer p.m.env.Runtime.Tape.SetEnabled(false)()
	v, err := starlark.Call(p.m.env.Thread, list, nil, nil)
	if err != nil {
		return err
	}
	y, ok := v.(*builtins.Tensor)
	if !ok {
		return arg.In(p.fn, "parametrization", arg.Bad(v, "a tensor from it", ""))
	}
	got, err := y.Tensor()
	if err != nil {
		return err
	}
	if got.DType() != t.DType() || !got.Shape().Equal(t.Shape()) {
		return &op.ArgError{Func: p.fn, Param: "parametrization", Got: "one that makes " + op.Describe(got), Want: op.Describe(t) + " from it", Rule: "with unsafe=True it makes what it will"}
	}
	return nil
}

// parametrizationList returns what computes the field called name.
func (m *Module) parametrizationList(name string) *listModule {
	return m.Get(parametrizationsField).(*dictModule).Module.Get(name).(*listModule)
}

// computed returns the value of a ComputedField.
func (m *Module) computed(name string) (starlark.Value, error) {
	return starlark.Call(m.env.Thread, m.parametrizationList(name), nil, nil)
}

// originals returns the fields of a ParametrizationList that are learned.
func (l *listModule) originals() []*Field {
	var list []*Field
	for i := range l.Fields {
		if l.Fields[i].Kind == ParameterField {
			list = append(list, &l.Fields[i])
		}
	}
	return list
}

// computeParameter is the forward function of a ParametrizationList.
func computeParameter(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(m.Class.Name, args, kwargs); err != nil {
		return nil, err
	}
	l := m.Value.(*listModule)
	var in starlark.Tuple
	for _, f := range l.originals() {
		v, err := m.read(f)
		if err != nil {
			return nil, err
		}
		in = append(in, v)
	}
	for _, f := range l.elements() {
		v, err := starlark.Call(thread, f.Value, in, nil)
		if err != nil {
			return nil, err
		}
		in = starlark.Tuple{v}
	}
	return in[0], nil
}

// rightInverse returns of what sub, a parametrization, makes v; ok tells whether that is known.
func rightInverse(sub *Module, v starlark.Value) (of []starlark.Value, ok bool, err error) {
	switch {
	case !sub.hasInverse():
		return nil, false, nil
	case sub.Class.inverse != nil:
		of, err = sub.Class.inverse(sub, v)
		return of, true, err
	}
	out, err := starlark.Call(sub.env.Thread, sub.Get("right_inverse"), starlark.Tuple{v}, nil)
	switch out := out.(type) {
	case starlark.Tuple:
		for _, v := range out {
			if _, ok := v.(*builtins.Tensor); !ok {
				return nil, true, arg.In("right_inverse", "", arg.Bad(v, "a tensor", "it is learned"))
			}
		}
		return out, true, err
	case *builtins.Tensor:
		return []starlark.Value{out}, true, err
	}
	if err == nil {
		err = arg.In("right_inverse", "", arg.Bad(out, "a tensor or a tuple of tensors", "it is learned"))
	}
	return nil, true, err
}

// setComputed stores in what the field called name is computed of that of which it is v.
func (m *Module) setComputed(name string, v starlark.Value) error {
	if _, ok := v.(*builtins.Tensor); !ok {
		return arg.Bad(v, "a tensor", "it is computed of parametrizations."+name)
	}
	defer m.env.Runtime.Tape.SetEnabled(false)()
	defer m.forget(name)
	list, of := m.parametrizationList(name), []starlark.Value{v}
	subs := list.elements()
	for i := len(subs) - 1; i >= 0; i-- {
		sub := ModuleOf(subs[i].Value)
		next, ok, err := rightInverse(sub, of[0])
		if err != nil {
			return err
		}
		if !ok {
			return arg.Bad(v, "no assignment", fmt.Sprintf("parametrizations.%s.%s has no right_inverse, of which it could be computed", name, subs[i].Name))
		}
		of = next
	}
	originals := list.originals()
	if len(of) != len(originals) {
		return arg.Bad(v, units.Count(len(originals), "tensor")+" from right_inverse", fmt.Sprintf("it returned %d", len(of)))
	}
	for i, f := range originals {
		x, y := f.Value.(*builtins.Tensor), of[i].(*builtins.Tensor)
		if err := storeOf(x).Load(m.Class.Name+"."+name, x, x, y); err != nil {
			return err
		}
	}
	return nil
}

func registerParametrization(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		with   starlark.Value
		unsafe arg.Bool
	)
	p, err := unpackParametrized(b, args, kwargs, "tensor_name", "parametrization", &with, "unsafe?", &unsafe)
	if err != nil {
		return nil, err
	}
	sub := ModuleOf(with)
	if sub == nil {
		return nil, arg.In(p.fn, "parametrization", arg.Bad(with, "a module", "nn.Module(forward=lambda self, w: ...) makes one of a function"))
	}
	if p.m.Computes(p.name) {
		return p.m.Value, p.addBehind(sub, bool(unsafe))
	}
	x, err := p.parameter("tensor_name")
	if err != nil {
		return nil, err
	}
	originals, err := p.originalsOf(x, sub)
	if err != nil {
		return nil, err
	}
	return p.m.Value, p.add(x, sub, originals, bool(unsafe))
}

// originalsOf returns the parameters that are learned instead of x, which sub computes.
func (p *parametrized) originalsOf(x *builtins.Tensor, sub *Module) ([]starlark.Value, error) {
	defer p.m.env.Runtime.Tape.SetEnabled(false)()
	of, known, err := rightInverse(sub, x)
	if err != nil || !known {
		return []starlark.Value{x}, err
	}
	requires, err := Leaf(x)
	if err != nil {
		return nil, err
	}
	list := make([]starlark.Value, len(of))
	for i, v := range of {
		t, err := v.(*builtins.Tensor).Tensor()
		if err != nil {
			return nil, err
		}
		if list[i], err = asParameter(p.m.env, p.fn, t, requires.RequiresGrad()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// addBehind has sub compute with what is computed so far.
func (p *parametrized) addBehind(sub *Module, unsafe bool) error {
	restore := p.m.env.Runtime.Tape.SetEnabled(false)
	was, err := p.m.computed(p.name)
	restore()
	if err != nil {
		return err
	}
	list := p.m.parametrizationList(p.name)
	if err := list.insert(p.fn, list.Len(), sub.Value); err != nil {
		return err
	}
	err = p.fits(was.(*builtins.Tensor), list, unsafe)
	if err == nil && sub.hasInverse() {
		err = arg.In(p.fn, "parametrization", p.m.setComputed(p.name, was))
	}
	if err != nil {
		list.drop(list.elements()[list.Len()-1].Name)
	}
	return err
}

// hasInverse reports whether m, a parametrization, tells of what it makes a tensor.
func (m *Module) hasInverse() bool {
	_, ok := m.Get("right_inverse").(starlark.Callable)
	return ok || m.Class.inverse != nil
}

// Computes reports whether the parameter called name is computed of others.
func (m *Module) Computes(name string) bool {
	i, ok := m.at[name]
	return ok && m.Fields[i].Kind == ComputedField
}

func removeParametrizations(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	leave := arg.Bool(true)
	p, err := unpackParametrized(b, args, kwargs, "tensor_name", "leave_parametrized?", &leave)
	if err != nil {
		return nil, err
	}
	if !p.m.Computes(p.name) {
		return nil, arg.In(p.fn, "tensor_name", arg.Bad(starlark.String(p.name), "a parameter that is computed", "register_parametrization has it computed"))
	}
	originals := p.m.parametrizationList(p.name).originals()
	if !leave && len(originals) > 1 {
		return nil, arg.In(p.fn, "leave_parametrized", arg.Bad(starlark.False, "True", fmt.Sprintf("%s is computed of %d parameters", p.name, len(originals))))
	}
	x := originals[0].Value.(*builtins.Tensor)
	if leave {
		if x, err = p.settled(x, len(originals) == 1); err != nil {
			return nil, err
		}
	}
	p.m.Put(Field{p.name, ParameterField, x})
	all := p.m.Get(parametrizationsField).(*dictModule)
	if all.drop(p.name); all.Len() == 0 {
		p.m.drop(parametrizationsField)
	}
	return p.m.Value, nil
}

// settled returns the parameter with the value that is computed: x itself, if same, or a new one that
// requires grad where x does.
func (p *parametrized) settled(x *builtins.Tensor, same bool) (*builtins.Tensor, error) {
	restore := p.m.env.Runtime.Tape.SetEnabled(false)
	v, err := p.m.computed(p.name)
	restore()
	if err != nil {
		return nil, err
	}
	if _, plain := storeOf(x).(PlainStore); !plain {
		return nil, &op.ArgError{Func: p.fn, Param: "module", Got: p.m.Describe() + ", of whose parameters this rank stores parts", Want: "one of whole parameters", Rule: "remove it before fully_shard"}
	}
	t, err := v.(*builtins.Tensor).Tensor()
	if err != nil {
		return nil, err
	}
	chain := &builtins.OpChain{E: p.m.env, Fn: p.fn}
	y := chain.Do("clone", []*tensor.Tensor{t.Detach()})
	if chain.Err != nil {
		return nil, chain.Err
	}
	if same {
		return x, builtins.ReplaceParameter(p.fn, x, y.Detach())
	}
	old, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	made, err := asParameter(p.m.env, p.fn, y, old.RequiresGrad())
	if err != nil {
		return nil, err
	}
	return made.(*builtins.Tensor), nil
}

func isParametrized(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		v    starlark.Value
		name starlark.Value = starlark.None
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "module", &v, "tensor_name?", &name); err != nil {
		return nil, err
	}
	m := ModuleOf(v)
	if m == nil {
		return nil, arg.In(b.Name(), "module", arg.Bad(v, "a module", ""))
	}
	for _, f := range m.Fields {
		if f.Kind == ComputedField && (name == starlark.None || name == starlark.String(f.Name)) {
			return starlark.True, nil
		}
	}
	return starlark.False, nil
}
