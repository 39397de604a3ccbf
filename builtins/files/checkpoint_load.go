package files

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/tensorfiles"
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

// unread returns the error of a value that the checkpoint has at path and that cannot be
// read here, or nil.
func (l *loader) unread(path string) error {
	if f, ok := l.r.(*foreign); ok {
		if err := f.Unread()[path]; err != nil {
			return l.noValue(path, err)
		}
	}
	return nil
}

// undamaged returns the error of a value below path that is damaged, or nil.
func (l *loader) undamaged(path string) error {
	f, ok := l.r.(*foreign)
	if !ok {
		return nil
	}
	unread := f.Unread()
	for _, at := range slices.Sorted(maps.Keys(unread)) {
		if tensorfiles.Damaged(unread[at]) && (path == "" || strings.HasPrefix(at, path+".")) {
			return l.noValue(at, unread[at])
		}
	}
	return nil
}

// noValue returns the error of a value that cannot be read, which why says.
func (l *loader) noValue(path string, why error) error {
	return &op.ArgError{Func: l.fn, Param: "state", Got: fmt.Sprintf("the key %q", path), Want: "a key whose value can be read here", Rule: why.Error()}
}

// tensor returns the one of the checkpoint that its state calls name.
func (l *loader) tensor(name string) (*ckpt.Tensor, error) {
	if t := l.r.Tensor(name); t != nil {
		return t, nil
	}
	return nil, errState
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
