package files

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/spell"
	"tpsh/runtime"
	"tpsh/runtime/ckpt"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "load_checkpoint",
		Doc: "load_checkpoint(dir, state) fills state with what save_checkpoint saved under the same keys, and returns it.\n" +
			"Tensors are filled in place, whatever mesh, placements or flat spec they have here and had when they were saved; each\n" +
			"rank reads the blocks of its own. Shapes and dtypes agree. Other values are replaced. Each key of state is in the\n" +
			"checkpoint, which may have more; an empty dict or list takes all that there is, tensors as plain ones. All ranks\n" +
			"call it. What is read is compared with its checksums. If anything is wrong on some rank, all fail, and nothing has changed.\n" +
			"dir may also be what others have saved: a folder of torch.distributed.checkpoint, a .pt, .pth or .bin file of torch.save,\n" +
			"a .safetensors file, or a folder of such files, with or without an index. Keys may then be paths, \"model.fc.weight\".\n" +
			">>> path = tmpdir() + \"/run\"\n" +
			">>> save_checkpoint(path, {\"model\": {\"w\": ones(2)}, \"step\": 7})\n" +
			">>> w = zeros(2)\n" +
			">>> load_checkpoint(path, {\"model\": {\"w\": w}, \"step\": 0})[\"step\"], w.tolist()\n(7, [1.0, 1.0])",
		Fn: loadCheckpoint,
	})
}

// A loader is a call of load_checkpoint. It reads everything first, and then
// changes the state.
type loader struct {
	e    *builtins.Env
	fn   string
	r    tensorReader
	then []func() error

	file    string // the name of the checkpoint, if it is a file and no folder
	foreign bool   // it is of another format than tpsh's own
}

func loadCheckpoint(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dir   arg.String
		state starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "dir", &dir, "state", &state); err != nil {
		return nil, err
	}
	if s := shadowRead(e, string(dir)); s != nil && s.state != nil {
		return refill(e, "", state, s.state)
	}
	l := &loader{e: e, fn: b.Name()}
	defer e.Runtime.Tape.SetEnabled(false)()
	root, file, err := checkpointAt(e, l.fn, string(dir))
	if err == nil {
		defer root.Close()
	}
	l.file = file
	index, err := l.index(root, string(dir), err)
	if err != nil {
		return nil, err
	}
	if _, err := agree(e, l.fn, ckptMessage{}, l.read(root, string(dir), index, state)); err != nil {
		return nil, err
	}
	for _, change := range l.then {
		if err := change(); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// index returns the bytes of the index, which rank 0 reads, so that all load one
// checkpoint. err says why this rank did not open the folder.
func (l *loader) index(root *os.Root, dir string, err error) ([]byte, error) {
	var m ckptMessage
	if err == nil && runtime.Asked(l.e.Runtime, func(rank int) bool { return rank == 0 }) {
		var bad error
		if m.Index, m.Foreign, bad = l.described(root); bad != nil {
			m.Problem = bad.Error()
		}
	}
	all, err := agree(l.e, l.fn, m, err)
	if err != nil {
		return nil, err
	}
	if all[0].Problem != "" {
		return nil, l.noCheckpoint(dir, all[0].Problem)
	}
	l.foreign = all[0].Foreign
	return all[0].Index, nil
}

// noCheckpoint returns the error of a folder that is no sound checkpoint.
func (l *loader) noCheckpoint(dir, problem string) error {
	return &op.ArgError{Func: l.fn, Param: "dir", Got: starlark.String(dir).String(), Want: "a checkpoint", Rule: problem}
}

// bad returns the error of a state that does not suit the checkpoint.
func (l *loader) bad(path, got, want, rule string) error {
	return &op.ArgError{Func: l.fn, Param: "state", Got: fmt.Sprintf("%s at %q", got, path), Want: want, Rule: rule}
}

// read reads what state is to be filled with.
func (l *loader) read(root *os.Root, dir string, index []byte, state starlark.Value) error {
	d, ok := state.(*starlark.Dict)
	if !ok {
		return arg.In(l.fn, "state", arg.Bad(state, "a dict", ""))
	}
	r, text, err := l.openStored(root, index)
	if err == nil {
		defer r.Close()
		l.r = r
		var saved *savedValue
		if saved, err = readState(text); err == nil {
			_, err = l.fill("", d, saved)
		}
	}
	if damaged(err) {
		return l.noCheckpoint(dir, err.Error())
	}
	var known interface{ Function() string }
	if err != nil && !errors.As(err, &known) {
		return &op.ResourceError{Func: l.fn, Err: errors.New(pathless(err))}
	}
	return err
}

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

// fillDict is fill for a dict.
func (l *loader) fillDict(path string, d *starlark.Dict, saved *savedValue) error {
	if d.Len() == 0 {
		return l.fillEmpty(path, d, saved)
	}
	for _, item := range d.Items() {
		key, ok := starlark.AsString(item[0])
		from := l.find(saved, key)
		if !ok || from == nil {
			bad := &op.ArgError{Func: l.fn, Param: "state", Got: "the key " + arg.Show(item[0]), Want: "a key that the checkpoint has", Rule: "it has " + builtins.QuotedNames(saved.keys)}
			if path != "" {
				bad.Got += fmt.Sprintf(" at %q", path)
			}
			if n := spell.Nearest(key, saved.keys); n != "" {
				bad.Rule = fmt.Sprintf("did you mean %q?", n)
			}
			return bad
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

// tensor returns the one of the checkpoint that its state calls name.
func (l *loader) tensor(name string) (*ckpt.Tensor, error) {
	if t := l.r.Tensor(name); t != nil {
		return t, nil
	}
	return nil, errState
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

// build returns a new value for what is saved, with plain tensors.
func (l *loader) build(saved *savedValue) (starlark.Value, error) {
	if saved.kind == "tensor" {
		return l.buildTensor(saved.tensor)
	}
	if saved.kind == "" {
		return saved.value, nil
	}
	items := make([]starlark.Value, len(saved.items))
	for i, item := range saved.items {
		v, err := l.build(item)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	switch saved.kind {
	case "list":
		return starlark.NewList(items), nil
	case "tuple":
		return starlark.Tuple(items), nil
	}
	d := starlark.NewDict(len(items))
	for i, key := range saved.keys {
		if err := d.SetKey(starlark.String(key), items[i]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// buildTensor returns the tensor called name of the checkpoint as a plain one.
func (l *loader) buildTensor(name string) (starlark.Value, error) {
	t, err := l.tensor(name)
	if err != nil {
		return nil, err
	}
	dt, err := dtype.Parse(t.DType)
	if err != nil {
		return nil, l.noDType(t)
	}
	like := l.e.Wrap(tensor.ShapeOnly(dt, shape.Shape(t.Shape)))
	h, err := held(like, l.fn)
	if err != nil {
		return nil, err
	}
	x, err := l.readInto(h, t)
	if err != nil {
		return nil, err
	}
	return l.e.Wrap(x), nil
}

// describe returns what is saved as an error shows it.
func (l *loader) describe(saved *savedValue) string {
	switch saved.kind {
	case "":
		return arg.Show(saved.value)
	case "tensor":
		if t := l.r.Tensor(saved.tensor); t != nil {
			return "a tensor " + t.String()
		}
		return "a tensor"
	case "dict":
		return "a dict with the keys " + builtins.QuotedNames(saved.keys)
	}
	return "a " + saved.kind + " of " + strconv.Itoa(len(saved.items))
}

// holdsTensor reports whether there is a tensor in v.
func (v *savedValue) holdsTensor() bool {
	for _, item := range v.items {
		if item.holdsTensor() {
			return true
		}
	}
	return v.kind == "tensor"
}

// holdsTensor reports whether v is a tensor or has one in it.
func holdsTensor(v starlark.Value) bool { return findTensor(v, map[starlark.Value]bool{}) }

// findTensor is holdsTensor. It does not look into what it has seen.
func findTensor(v starlark.Value, seen map[starlark.Value]bool) bool {
	var items []starlark.Value
	switch v := v.(type) {
	case *builtins.Tensor:
		return true
	case *starlark.Dict:
		if seen[v] {
			return false
		}
		seen[v] = true
		for _, item := range v.Items() {
			items = append(items, item[1])
		}
	case *starlark.List:
		if seen[v] {
			return false
		}
		seen[v] = true
		items = slices.Collect(v.Elements())
	case starlark.Tuple:
		items = v
	}
	return slices.ContainsFunc(items, func(item starlark.Value) bool { return findTensor(item, seen) })
}
