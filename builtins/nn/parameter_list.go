package nn

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// A parameterList is a Module whose parameters are its elements, too, under the names
// "0", "1" and so on. What is no tensor stands in it as it is.
type parameterList struct{ Module }

var (
	_ starlark.HasSetIndex = (*parameterList)(nil)
	_ starlark.Sliceable   = (*parameterList)(nil)
	_ starlark.Sequence    = (*parameterList)(nil)
)

var parameterListClass = &class{Name: "ParameterList", forward: cannotRun}

func init() {
	builtins.Register(
		&builtins.Row{Name: "nn.ParameterList", Fn: newParameterList,
			Doc: "ParameterList(values=[]) returns a module that holds a list of parameters. Tensors among values become parameters.\n" +
				"It can be indexed, sliced, assigned to by index, counted by len() and looped over. The\n" +
				"parameters are called \"0\", \"1\", ...\n" +
				">>> m = nn.ParameterList([ones(2), zeros(3)])\n>>> len(m), m[-1].requires_grad, [name for name, p in m.named_parameters()]\n(2, True, [\"0\", \"1\"])"},
		&builtins.Row{Name: "ParameterList", Base: "Module", Doc: "ParameterList is the type of what nn.ParameterList makes: a module with methods of a list."},
		parametersRow("append", "append(value) adds a parameter behind the others, and returns the whole.\n>>> len(nn.ParameterList().append(ones(2)))\n1", "value"),
		parametersRow("extend", "extend(values) adds the parameters of a list behind the others, and returns the whole.\n>>> len(nn.ParameterList().extend([ones(2), ones(1)]))\n2", "values"),
	)
}

// newParameters returns a list without parameters.
func newParameters(e *builtins.Env) *parameterList {
	l := &parameterList{*newModule(e, parameterListClass)}
	l.Value = l
	return l
}

func newParameterList(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var values arg.List
	if err := arg.Unpack(b.Name(), args, kwargs, "values?", &values); err != nil {
		return nil, err
	}
	l := newParameters(e)
	return l, l.add(b.Name(), values)
}

// parametersRow returns the row of a method that adds what its one argument, a list if it
// is called values, holds.
func parametersRow(name, doc, param string) *builtins.Row {
	return &builtins.Row{Name: "ParameterList." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var v starlark.Value
		if err := arg.Unpack(b.Name(), args, kwargs, param, &v); err != nil {
			return nil, err
		}
		l, list := b.Receiver().(*parameterList), arg.List{v}
		if err := l.MayChange(b.Name()); err != nil {
			return nil, err
		}
		if param == "values" {
			list = nil
			if err := list.Unpack(v); err != nil {
				return nil, arg.In(b.Name(), param, err)
			}
		}
		return l, l.add(b.Name(), list)
	}}
}

// add puts values behind the elements, for the function fn.
func (l *parameterList) add(fn string, values []starlark.Value) error {
	for _, v := range values {
		if err := l.put(fn, strconv.Itoa(l.Len()), v); err != nil {
			return err
		}
	}
	return nil
}

// put gives the field called name the value v: a tensor becomes a parameter, for the
// function fn.
func (m *Module) put(fn, name string, v starlark.Value) error {
	if ModuleOf(v) != nil {
		return arg.In(fn, "", arg.Bad(v, "a tensor, or another value that is no module", "nn.ModuleList holds modules"))
	}
	kind := PlainField
	if x, ok := v.(*builtins.Tensor); ok {
		kind = ParameterField
		if !x.Parameter {
			t, err := x.Tensor()
			if err != nil {
				return err
			}
			if v, err = asParameter(x.Env, fn, t, true); err != nil {
				return err
			}
		}
	}
	m.Put(Field{name, kind, v})
	return nil
}

// Len implements starlark.Sequence: how many fields there are of numbers from 0 on.
func (l *parameterList) Len() int {
	n := 0
	for l.Module.Get(strconv.Itoa(n)) != nil {
		n++
	}
	return n
}

// Truth implements starlark.Value: a list without elements is false.
func (l *parameterList) Truth() starlark.Bool { return l.Len() > 0 }

// Hash implements starlark.Value.
func (l *parameterList) Hash() (uint32, error) { return 0, builtins.Unhashable(l) }

// Index implements starlark.Indexable.
func (l *parameterList) Index(i int) starlark.Value { return l.Module.Get(strconv.Itoa(i)) }

// SetIndex implements starlark.HasSetIndex.
func (l *parameterList) SetIndex(i int, v starlark.Value) error {
	const fn = "ParameterList[...] = v"
	if err := l.MayChange(fn); err != nil {
		return err
	}
	return l.put(fn, strconv.Itoa(i), v)
}

// Slice implements starlark.Sliceable: elements in a list that numbers them anew.
func (l *parameterList) Slice(start, end, step int) starlark.Value {
	part := newParameters(l.env)
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		f := l.Fields[l.at[strconv.Itoa(i)]]
		part.Put(Field{strconv.Itoa(part.Len()), f.Kind, f.Value})
	}
	return part
}

// Iterate implements starlark.Iterable.
func (l *parameterList) Iterate() starlark.Iterator {
	list := make(starlark.Tuple, l.Len())
	for i := range list {
		list[i] = l.Index(i)
	}
	return list.Iterate()
}

// Attr implements starlark.HasAttrs.
func (l *parameterList) Attr(name string) (starlark.Value, error) {
	if v, err := l.env.Attr("ParameterList", l, name); v != nil || err != nil {
		return v, err
	}
	return l.Module.Attr(name)
}

// String returns what the list holds, a line each.
func (l *parameterList) String() string { return l.holding() }

// holding writes the class and the parameters of m.
func (m *Module) holding() string {
	var lines []string
	for _, f := range m.Fields {
		what := arg.Show(f.Value)
		if f.Kind == ParameterField {
			what = "Parameter " + what
		}
		lines = append(lines, fmt.Sprintf("\n  (%s): %s", f.Name, what))
	}
	if lines == nil {
		return m.Class.Name + "()"
	}
	return m.Class.Name + "(" + strings.Join(lines, "") + "\n)"
}

// A parameterDict is a Module whose parameters are its values, too, under their names.
type parameterDict struct{ Module }

var (
	_ starlark.IterableMapping = (*parameterDict)(nil)
	_ starlark.HasSetKey       = (*parameterDict)(nil)
	_ starlark.Sequence        = (*parameterDict)(nil)
)

var parameterDictClass = &class{Name: "ParameterDict", forward: cannotRun}

func init() {
	const two = ">>> m = nn.ParameterDict({\"a\": ones(2), \"b\": zeros(1)})\n"
	row := func(name, doc string, of func(f *Field) starlark.Value) *builtins.Row {
		return &builtins.Row{Name: "ParameterDict." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
				return nil, err
			}
			var list []starlark.Value
			for i := range b.Receiver().(*parameterDict).Fields {
				list = append(list, of(&b.Receiver().(*parameterDict).Fields[i]))
			}
			return starlark.NewList(list), nil
		}}
	}
	builtins.Register(
		&builtins.Row{Name: "nn.ParameterDict", Fn: newParameterDict,
			Doc: "ParameterDict(parameters={}) returns a module that holds parameters under names. Tensors among the values become parameters.\n" +
				"m[name] is one of them, and can be assigned; name in m, len(m) and loops over the names\n" +
				"work as with a dict. A loop goes in the order of definition.\n" + two + ">>> m[\"a\"].tolist(), len(m), \"c\" in m\n([1.0, 1.0], 2, False)"},
		&builtins.Row{Name: "ParameterDict", Base: "Module", Doc: "ParameterDict is the type of what nn.ParameterDict makes: a module with the methods of a dict."},
		row("keys", "keys() returns the names as a list.\n"+two+">>> m.keys()\n[\"a\", \"b\"]", func(f *Field) starlark.Value { return starlark.String(f.Name) }),
		row("values", "values() returns the parameters as a list.\n"+two+">>> [p.shape for p in m.values()]\n[(2,), (1,)]", func(f *Field) starlark.Value { return f.Value }),
		row("items", "items() returns pairs of names and parameters as a list.\n"+two+">>> [(name, p.shape) for name, p in m.items()]\n[(\"a\", (2,)), (\"b\", (1,))]",
			func(f *Field) starlark.Value { return starlark.Tuple{starlark.String(f.Name), f.Value} }),
		&builtins.Row{Name: "ParameterDict.update", Doc: "update(parameters) adds the parameters of a dict, or of another ParameterDict, in place of those of their names.\n" + two + ">>> m.update({\"b\": ones(1)})\n>>> m[\"b\"].tolist()\n[1.0]",
			Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				var from starlark.Value
				if err := arg.Unpack(b.Name(), args, kwargs, "parameters", &from); err != nil {
					return nil, err
				}
				d := b.Receiver().(*parameterDict)
				if err := d.MayChange(b.Name()); err != nil {
					return nil, err
				}
				return starlark.None, d.addAll(b.Name(), from)
			}},
	)
}

// newNamedParameters returns a dict without parameters.
func newNamedParameters(e *builtins.Env) *parameterDict {
	d := &parameterDict{*newModule(e, parameterDictClass)}
	d.Value = d
	return d
}

func newParameterDict(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var from starlark.Value = starlark.None
	if err := arg.Unpack(b.Name(), args, kwargs, "parameters?", &from); err != nil {
		return nil, err
	}
	d := newNamedParameters(e)
	if from == starlark.None {
		return d, nil
	}
	return d, d.addAll(b.Name(), from)
}

// addAll adds the parameters of a dict, for the function fn.
func (d *parameterDict) addAll(fn string, v starlark.Value) error {
	from, ok := v.(starlark.IterableMapping)
	if !ok {
		return arg.In(fn, "parameters", arg.Bad(v, "a dict of names and tensors", ""))
	}
	for _, item := range from.Items() {
		if err := d.set(fn, item[0], item[1]); err != nil {
			return err
		}
	}
	return nil
}

// set gives the parameter v the name key, for the function fn.
func (d *parameterDict) set(fn string, key, v starlark.Value) error {
	name, ok := starlark.AsString(key)
	if !ok || name == "" || strings.Contains(name, ".") || builtins.IsMember("Module", name) {
		return &op.ArgError{Func: fn, Got: arg.Show(key), Want: "a string without dots for a name", Rule: "no module has it as an attribute"}
	}
	return d.put(fn, name, v)
}

// Get implements starlark.Mapping.
func (d *parameterDict) Get(key starlark.Value) (v starlark.Value, found bool, err error) {
	name, ok := starlark.AsString(key)
	if !ok {
		return nil, false, nil
	}
	v = d.Module.Get(name)
	return v, v != nil, nil
}

// SetKey implements starlark.HasSetKey.
func (d *parameterDict) SetKey(key, v starlark.Value) error {
	const fn = "ParameterDict[...] = v"
	if err := d.MayChange(fn); err != nil {
		return err
	}
	return d.set(fn, key, v)
}

// Items implements starlark.IterableMapping.
func (d *parameterDict) Items() []starlark.Tuple {
	var items []starlark.Tuple
	for _, f := range d.Fields {
		items = append(items, starlark.Tuple{starlark.String(f.Name), f.Value})
	}
	return items
}

// Iterate implements starlark.Iterable: over the names.
func (d *parameterDict) Iterate() starlark.Iterator {
	var names starlark.Tuple
	for _, f := range d.Fields {
		names = append(names, starlark.String(f.Name))
	}
	return names.Iterate()
}

// Len implements starlark.Sequence.
func (d *parameterDict) Len() int { return len(d.Fields) }

// Truth implements starlark.Value: a dict without parameters is false.
func (d *parameterDict) Truth() starlark.Bool { return d.Len() > 0 }

// Hash implements starlark.Value.
func (d *parameterDict) Hash() (uint32, error) { return 0, builtins.Unhashable(d) }

// Attr implements starlark.HasAttrs.
func (d *parameterDict) Attr(name string) (starlark.Value, error) {
	if v := d.Module.Get(name); v != nil {
		return v, nil
	}
	if v, err := d.env.Attr("ParameterDict", d, name); v != nil || err != nil {
		return v, err
	}
	return d.Module.Attr(name)
}

// String returns what the dict holds, a line each.
func (d *parameterDict) String() string { return d.holding() }
