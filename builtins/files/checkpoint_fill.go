package files

import (
	"cmp"
	"fmt"
	"strconv"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/ckpt"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// fill reads what saved, at path, stands for, notes how have is to be filled with
// it, and returns what is to stand in its place.
func (l *loader) fill(path string, have starlark.Value, saved *savedValue) (starlark.Value, error) {
	switch v := have.(type) {
	case *builtins.Tensor:
		return v, l.fillTensor(path, v, saved)
	case *starlark.Dict:
		if saved.kind == "dict" {
			return v, l.fillDict(path, v, saved)
		}
	case *starlark.List:
		if saved.kind == "list" {
			return v, l.fillList(path, v, saved)
		}
	case starlark.Tuple:
		if saved.kind == "tuple" && len(v) == len(saved.items) {
			return l.fillTuple(path, v, saved)
		}
	}
	if holdsTensor(have) || saved.holdsTensor() {
		return nil, l.bad(path, arg.Show(have), l.describe(saved), "the checkpoint has that there")
	}
	return l.build(saved)
}

// noSuchKey returns the error that a state has key at path, and a checkpoint only keys.
func noSuchKey(fn, path string, key starlark.Value, keys []string) error {
	got := "the key " + arg.Show(key)
	if path != "" {
		got += fmt.Sprintf(" at %q", path)
	}
	name, _ := starlark.AsString(key)
	rule := cmp.Or(arg.Nearest(name, keys), "it has "+builtins.QuotedNames(keys))
	return &op.ArgError{Func: fn, Param: "state", Got: got, Want: "a key that the checkpoint has", Rule: rule}
}

// fillDict is fill for a dict.
func (l *loader) fillDict(path string, d *starlark.Dict, saved *savedValue) error {
	if d.Len() == 0 {
		return l.fillEmpty(path, d, saved)
	}
	for _, item := range d.Items() {
		key, ok := starlark.AsString(item[0])
		from := l.find(saved, key)
		if !ok || from == nil {
			if err := l.unread(builtins.JoinPath(path, key)); err != nil {
				return err
			}
			return noSuchKey(l.fn, path, item[0], saved.keys)
		}
		v, err := l.fill(builtins.JoinPath(path, key), item[1], from)
		if err != nil {
			return err
		}
		if err := l.change(path, d.SetKey(item[0], item[1]), func() error { return d.SetKey(item[0], v) }); err != nil {
			return err
		}
	}
	return nil
}

// fillEmpty fills an empty dict with all that is saved.
func (l *loader) fillEmpty(path string, d *starlark.Dict, saved *savedValue) error {
	if err := l.undamaged(path); err != nil {
		return err
	}
	for i, key := range saved.keys {
		v, err := l.build(saved.items[i])
		if err != nil {
			return err
		}
		if err := l.change(path, d.Clear(), func() error { return d.SetKey(starlark.String(key), v) }); err != nil {
			return err
		}
	}
	return nil
}

// change notes a change of what stands at path, unless frozen, the error of an
// attempt that changes nothing, says that it cannot be made.
func (l *loader) change(path string, frozen error, do func() error) error {
	if frozen != nil {
		return &op.ArgError{Func: l.fn, Param: "state", Got: fmt.Sprintf("what cannot be changed at %q", path), Want: "dicts and lists that can", Rule: frozen.Error()}
	}
	l.then = append(l.then, do)
	return nil
}

// fillList is fill for a list. One that holds tensors is as long as the saved
// one; any other takes its elements, however many.
func (l *loader) fillList(path string, list *starlark.List, saved *savedValue) error {
	if !holdsTensor(list) && (list.Len() == 0 || !saved.holdsTensor()) {
		return l.replaceList(path, list, saved)
	}
	if list.Len() != len(saved.items) {
		return l.bad(path, "a list of "+strconv.Itoa(list.Len()), "a list of "+strconv.Itoa(len(saved.items)), "as the checkpoint has it")
	}
	for i := range list.Len() {
		v, err := l.fill(builtins.JoinPath(path, strconv.Itoa(i)), list.Index(i), saved.items[i])
		if err != nil {
			return err
		}
		if err := l.change(path, list.SetIndex(i, list.Index(i)), func() error { return list.SetIndex(i, v) }); err != nil {
			return err
		}
	}
	return nil
}

// replaceList gives list the elements that are saved.
func (l *loader) replaceList(path string, list *starlark.List, saved *savedValue) error {
	var items []starlark.Value
	for _, item := range saved.items {
		v, err := l.build(item)
		if err != nil {
			return err
		}
		items = append(items, v)
	}
	var frozen error
	if list.Len() == 0 {
		frozen = list.Clear()
	} else {
		frozen = list.SetIndex(0, list.Index(0))
	}
	return l.change(path, frozen, func() error {
		if err := list.Clear(); err != nil {
			return err
		}
		for _, v := range items {
			if err := list.Append(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// fillTuple is fill for a tuple: it returns another.
func (l *loader) fillTuple(path string, have starlark.Tuple, saved *savedValue) (starlark.Value, error) {
	filled := make(starlark.Tuple, len(have))
	for i := range have {
		v, err := l.fill(builtins.JoinPath(path, strconv.Itoa(i)), have[i], saved.items[i])
		if err != nil {
			return nil, err
		}
		filled[i] = v
	}
	return filled, nil
}

// fillTensor reads what this rank holds of x.
func (l *loader) fillTensor(path string, x *builtins.Tensor, saved *savedValue) error {
	h, err := held(x, l.fn)
	if err != nil {
		return err
	}
	if saved.kind != "tensor" {
		return l.bad(path, describeHeld(h), l.describe(saved), "the checkpoint has that there")
	}
	t, err := l.tensor(saved.tensor)
	if err != nil {
		return err
	}
	if describeHeld(h) != t.String() {
		return l.bad(path, describeHeld(h), t.String(), "as the checkpoint has it")
	}
	if h.partial {
		return l.bad(path, "a Partial tensor "+describeHeld(h), "one that is Replicate or Shard on each dim of its mesh", "summands are not saved")
	}
	if err := builtins.CheckFrozen(l.fn, h.local); err != nil {
		return err
	}
	from, err := l.readInto(h, t)
	if err != nil {
		return err
	}
	l.then = append(l.then, func() error {
		_, err := l.e.Runtime.Do("copy_", []*tensor.Tensor{h.local, from})
		return arg.Rename(l.fn, err)
	})
	return nil
}

// readInto returns a tensor like h.local with the elements of t that it is to
// hold.
func (l *loader) readInto(h *stored, t *ckpt.Tensor) (*tensor.Tensor, error) {
	x, err := tensor.New(l.e.Runtime.Ops().Alloc, h.local.DType(), h.local.Shape())
	if err != nil {
		return nil, &op.ResourceError{Func: l.fn, Err: err}
	}
	if x.Hollow() {
		return x, nil
	}
	err = h.each(x, func(i int, data []byte) error { return l.r.Read(data, t, h.boxes[i]) })
	mendBools(x)
	return x, err
}
