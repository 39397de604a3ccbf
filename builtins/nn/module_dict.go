package nn

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A moduleDict is a Module whose modules are its values, too, under their names.
type moduleDict struct{ Module }

var (
	_ starlark.IterableMapping = (*moduleDict)(nil)
	_ starlark.HasSetKey       = (*moduleDict)(nil)
	_ starlark.Sequence        = (*moduleDict)(nil)
	_ starlark.HasSetField     = (*moduleDict)(nil)
)

var moduleDictClass = &class{Name: "ModuleDict", forward: cannotRun}

// dictRow returns a row for a method of a ModuleDict that lists its modules.
func dictRow(name, doc string, of func(f *Field) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "ModuleDict." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
			return nil, err
		}
		var list []starlark.Value
		for _, f := range b.Receiver().(*moduleDict).children() {
			list = append(list, of(f))
		}
		return starlark.NewList(list), nil
	}}
}

func init() {
	const two = ">>> m = nn.ModuleDict({\"a\": nn.ReLU(), \"b\": nn.Tanh()})\n"
	builtins.Register(
		&builtins.Row{Name: "nn.ModuleDict", Fn: newModuleDict,
			Doc: "ModuleDict(modules={}) returns a module that holds modules under names, for another module to call.\n" +
				"m[name] is one of them, and can be assigned; name in m, len(m) and loops over the names\n" +
				"work as with a dict. A loop goes in the order of definition.\n" + two + ">>> m[\"a\"](tensor([-1.0])), len(m), \"c\" in m\n([0.], 2, False)"},
		&builtins.Row{Name: "ModuleDict", Base: "Module", Doc: "ModuleDict is the type of what nn.ModuleDict makes: a module with the methods of a dict."},
		dictRow("keys", "keys() returns the names as a list.\n"+two+">>> m.keys()\n[\"a\", \"b\"]", func(f *Field) starlark.Value { return starlark.String(f.Name) }),
		dictRow("values", "values() returns the modules as a list.\n"+two+">>> m.values()\n[ReLU(), Tanh()]", func(f *Field) starlark.Value { return f.Value }),
		dictRow("items", "items() returns pairs of names and modules as a list.\n"+two+">>> m.items()\n[(\"a\", ReLU()), (\"b\", Tanh())]",
			func(f *Field) starlark.Value { return starlark.Tuple{starlark.String(f.Name), f.Value} }),
		&builtins.Row{Name: "ModuleDict.update", Fn: updateModuleDict,
			Doc: "update(modules) adds the modules of a dict, or of another ModuleDict, in place of those of their names.\n" + two + ">>> m.update({\"b\": nn.ReLU()})\n>>> m[\"b\"]\nReLU()"},
	)
}

func newModuleDict(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var modules starlark.Value = starlark.None
	if err := arg.Unpack(b.Name(), args, kwargs, "modules?", &modules); err != nil {
		return nil, err
	}
	d := &moduleDict{*newModule(e, moduleDictClass)}
	d.Value = d
	if modules == starlark.None {
		return d, nil
	}
	return d, d.addAll(b.Name(), modules)
}

func updateModuleDict(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var modules starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "modules", &modules); err != nil {
		return nil, err
	}
	d := b.Receiver().(*moduleDict)
	if err := d.MayChange(b.Name()); err != nil {
		return nil, err
	}
	return starlark.None, d.addAll(b.Name(), modules)
}

// addAll adds the modules of a dict for the function fn.
func (d *moduleDict) addAll(fn string, modules starlark.Value) error {
	from, ok := modules.(starlark.IterableMapping)
	if !ok {
		return arg.In(fn, "modules", arg.Bad(modules, "a dict of names and modules", ""))
	}
	for _, item := range from.Items() {
		if err := d.put(item[0], item[1]); err != nil {
			return arg.In(fn, "modules", err)
		}
	}
	return nil
}

// put gives the module v the name key.
func (d *moduleDict) put(key, v starlark.Value) error {
	name, ok := starlark.AsString(key)
	if !ok {
		return arg.Bad(key, "a string for a name", "")
	}
	if ModuleOf(v) == nil {
		return arg.Bad(v, fmt.Sprintf("a module for %q", name), "")
	}
	return d.assign(name, v)
}

// Attr implements starlark.HasAttrs.
func (d *moduleDict) Attr(name string) (starlark.Value, error) {
	if v := d.Module.Get(name); v != nil {
		return v, nil
	}
	if v, err := d.env.Attr("ModuleDict", d, name); v != nil || err != nil {
		return v, err
	}
	return d.Module.Attr(name)
}

// Get implements starlark.Mapping.
func (d *moduleDict) Get(key starlark.Value) (v starlark.Value, found bool, err error) {
	name, ok := starlark.AsString(key)
	if !ok {
		return nil, false, nil
	}
	v = d.Module.Get(name)
	return v, ModuleOf(v) != nil, nil
}

// SetKey implements starlark.HasSetKey.
func (d *moduleDict) SetKey(key, v starlark.Value) error {
	const fn = "ModuleDict[...] = v"
	if err := d.MayChange(fn); err != nil {
		return err
	}
	return arg.In(fn, "", d.put(key, v))
}

// Items implements starlark.IterableMapping.
func (d *moduleDict) Items() []starlark.Tuple {
	var items []starlark.Tuple
	for _, f := range d.children() {
		items = append(items, starlark.Tuple{starlark.String(f.Name), f.Value})
	}
	return items
}

// Iterate implements starlark.Iterable: over the names.
func (d *moduleDict) Iterate() starlark.Iterator {
	var names starlark.Tuple
	for _, f := range d.children() {
		names = append(names, starlark.String(f.Name))
	}
	return names.Iterate()
}

// Len implements starlark.Sequence.
func (d *moduleDict) Len() int { return len(d.children()) }

// Truth implements starlark.Value: a dict without modules is false.
func (d *moduleDict) Truth() starlark.Bool { return d.Len() > 0 }

// Hash implements starlark.Value.
func (d *moduleDict) Hash() (uint32, error) { return 0, builtins.Unhashable(d) }
