package nn

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A dictModule is a Module whose elements have names: a ModuleDict or a ParameterDict.
type dictModule struct{ container }

var (
	_ starlark.IterableMapping = (*dictModule)(nil)
	_ starlark.HasSetKey       = (*dictModule)(nil)
	_ starlark.Sequence        = (*dictModule)(nil)
	_ starlark.HasSetField     = (*dictModule)(nil)
)

// newDict returns a module of class c without elements.
func newDict(e *builtins.Env, c *class) *dictModule {
	d := &dictModule{container{*newModule(e, c)}}
	d.Value = d
	return d
}

// dictMaker returns the function that makes a dict of class c.
func dictMaker(c *class) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var from starlark.Value = starlark.None
		if err := arg.Unpack(b.Name(), args, kwargs, c.elements.many+"?", &from); err != nil {
			return nil, err
		}
		d := newDict(e, c)
		if from == starlark.None {
			return d, nil
		}
		return d, d.addAll(b.Name(), from)
	}
}

// addAll adds the elements of a dict for the function fn.
func (d *dictModule) addAll(fn string, values starlark.Value) error {
	of := d.Class.elements
	from, ok := values.(starlark.IterableMapping)
	if !ok {
		return arg.In(fn, of.many, arg.Bad(values, "a dict of names and "+of.of, ""))
	}
	for _, item := range from.Items() {
		if err := d.set(fn, of.many, item[0], item[1]); err != nil {
			return err
		}
	}
	return nil
}

// set gives the element v the name key, for the parameter param of the function fn.
func (d *dictModule) set(fn, param string, key, v starlark.Value) error {
	name, ok := starlark.AsString(key)
	if !ok || name == "" || strings.Contains(name, ".") || builtins.IsMember("Module", name) {
		return arg.In(fn, param, arg.Bad(key, "a string without dots for a name", "no module has it as an attribute"))
	}
	if err := d.check(fn, param, v, "", fmt.Sprintf(" for %q", name)); err != nil {
		return err
	}
	kind, v, err := d.Class.elements.field(fn, v)
	if err != nil {
		return err
	}
	d.Put(Field{name, kind, v})
	return nil
}

// Get implements starlark.Mapping.
func (d *dictModule) Get(key starlark.Value) (v starlark.Value, found bool, err error) {
	name, _ := starlark.AsString(key)
	i, ok := d.at[name]
	if !ok || !d.Class.elements.is(&d.Fields[i]) {
		return nil, false, nil
	}
	v, err = d.Module.read(&d.Fields[i])
	return v, true, err
}

// SetKey implements starlark.HasSetKey.
func (d *dictModule) SetKey(key, v starlark.Value) error {
	fn := d.Class.Name + "[...] = v"
	if err := d.MayChange(fn); err != nil {
		return err
	}
	return d.set(fn, "", key, v)
}

// names returns the names of the elements.
func (d *dictModule) names() starlark.Tuple {
	var list starlark.Tuple
	for _, f := range d.elements() {
		list = append(list, starlark.String(f.Name))
	}
	return list
}

// values returns the elements.
func (d *dictModule) values() starlark.Tuple {
	var list starlark.Tuple
	for _, f := range d.elements() {
		list = append(list, d.read(f))
	}
	return list
}

// items returns pairs of the names and the elements.
func (d *dictModule) items() starlark.Tuple {
	list := d.values()
	for i, name := range d.names() {
		list[i] = starlark.Tuple{name, list[i]}
	}
	return list
}

// Items implements starlark.IterableMapping.
func (d *dictModule) Items() []starlark.Tuple {
	var items []starlark.Tuple
	for _, item := range d.items() {
		items = append(items, item.(starlark.Tuple))
	}
	return items
}

// Iterate implements starlark.Iterable: over the names.
func (d *dictModule) Iterate() starlark.Iterator { return d.names().Iterate() }

// dictRow returns a row for a method of a dict that lists something of its elements.
func dictRow(name, doc string, of func(d *dictModule) starlark.Tuple) *builtins.Row {
	return &builtins.Row{Name: name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
			return nil, err
		}
		return starlark.NewList(of(b.Receiver().(*dictModule))), nil
	}}
}

// updateDict is the method update.
func updateDict(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	d := b.Receiver().(*dictModule)
	var from starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, d.Class.elements.many, &from); err != nil {
		return nil, err
	}
	if err := d.MayChange(b.Name()); err != nil {
		return nil, err
	}
	return starlark.None, d.addAll(b.Name(), from)
}

// popDict is the method pop.
func popDict(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	d := b.Receiver().(*dictModule)
	var key starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "key", &key); err != nil {
		return nil, err
	}
	if err := d.MayChange(b.Name()); err != nil {
		return nil, err
	}
	v, found, err := d.Get(key)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, arg.In(b.Name(), "key", arg.Bad(key, "one of the names "+arg.Show(starlark.NewList(d.names())), ""))
	}
	name, _ := starlark.AsString(key)
	d.drop(name)
	return v, nil
}

// clearDict is the method clear.
func clearDict(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	d := b.Receiver().(*dictModule)
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	if err := d.MayChange(b.Name()); err != nil {
		return nil, err
	}
	for _, key := range d.names() {
		d.drop(string(key.(starlark.String)))
	}
	return starlark.None, nil
}
