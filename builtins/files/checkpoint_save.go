package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/mesh"
	"tpsh/runtime/ckpt"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "save_checkpoint",
		Doc: "save_checkpoint(dir, state) saves a dict of tensors and of other values as a checkpoint, in the place of the one that dir holds.\n" +
			"state holds tensors, numbers, strings, bools, None, and lists, tuples and dicts of such, whose keys are strings: also\n" +
			"what state_dict() and rng_state() return. All ranks call it, with the same state: of tensors that they hold together\n" +
			"each writes blocks of its own, and all else must be equal on all. A tensor that is Partial is summed up first.\n" +
			"A rank that fails makes all fail. Whenever a save ends, killed or out of space, dir holds the old checkpoint or the\n" +
			"new one, whole. dir is relative to the script's folder, as a path is, one folder for all ranks, and made if it\n" +
			"is not there. What else is in it stays, but for files of earlier saves.\n" +
			">>> path = tmpdir() + \"/run\"\n" +
			">>> save_checkpoint(path, {\"w\": ones(2, 3), \"step\": 7, \"rng\": rng_state()})\n" +
			">>> load_checkpoint(path, {\"step\": 0})\n{\"step\": 7}",
		Fn: saveCheckpoint,
	})
}

// A stored is what this rank holds of a tensor: the boxes of the whole, none of
// them empty, that local stores one after another.
type stored struct {
	shape   []int
	boxes   []mesh.Box
	local   *tensor.Tensor
	partial bool // what it holds is summands
}

// held returns what this rank holds of x, for the function fn.
func held(x *builtins.Tensor, fn string) (*stored, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	l, local, err := dtensor.FlatStored(x, fn)
	if err != nil {
		return nil, err
	}
	if l != nil {
		return holds(x.Env, l, local), nil
	}
	if t.Placed() {
		h := holds(x.Env, t.Layout(), t.Local())
		h.partial = t.Layout().IsPartial()
		return h, nil
	}
	h := &stored{shape: t.Shape(), local: t}
	if t.Numel() > 0 {
		h.boxes = []mesh.Box{{Lo: make([]int, t.Ndim()), Hi: t.Shape()}}
	}
	return h, nil
}

// holds returns what this rank holds of a tensor laid out as l: local.
func holds(e *builtins.Env, l mesh.Layout, local *tensor.Tensor) *stored {
	h := &stored{shape: l.Shape(), local: local}
	for _, box := range l.Boxes(e.Runtime.Self()) {
		if box.Numel() > 0 {
			h.boxes = append(h.boxes, box)
		}
	}
	return h
}

// each calls f for each box with the bytes of its elements in x, which is h.local
// or a contiguous tensor like it.
func (h *stored) each(x *tensor.Tensor, f func(i int, data []byte) error) error {
	defer goruntime.KeepAlive(x)
	data, at := x.Bytes(), 0
	for i, box := range h.boxes {
		n := box.Numel() * x.DType().Size()
		if err := f(i, data[at:at+n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// A saver is a call of save_checkpoint.
type saver struct {
	e       *builtins.Env
	fn, dir string
	root    *os.Root
	state   []byte
	local   map[string]*stored // what this rank holds of each tensor, contiguous
	tensors []*ckpt.Tensor
	entries [][]ckpt.Entry // what each rank writes
}

func saveCheckpoint(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dir   arg.String
		state starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "dir", &dir, "state", &state); err != nil {
		return nil, err
	}
	s := &saver{e: e, fn: b.Name(), dir: string(dir), local: map[string]*stored{}}
	defer e.Runtime.Tape.SetEnabled(false)()
	list, err := s.values(state)
	if err != nil {
		return nil, err
	}
	if e.Planning() {
		if err := s.settle(list); err != nil { // sums that ranks have parts of
			return nil, err
		}
		noted, err := shadowState(state)
		if err != nil {
			return nil, err
		}
		_, err = shadowWrite(e, b.Name(), string(dir), &shadow{state: noted})
		return starlark.None, err
	}
	if err := s.assign(list); err != nil {
		return nil, err
	}
	gen, err := s.open()
	if s.root != nil {
		defer s.root.Close()
	}
	if err != nil {
		return nil, err
	}
	return starlark.None, s.write(gen)
}

// values makes out what there is to save beside tensors, which is the same on all
// ranks, and returns these.
func (s *saver) values(state starlark.Value) ([]savedTensor, error) {
	w := &stateWriter{fn: s.fn, names: map[string]bool{}}
	err := error(nil)
	if _, ok := state.(*starlark.Dict); ok {
		err = w.write("", state, 0)
	} else {
		err = arg.In(s.fn, "state", arg.Bad(state, "a dict", ""))
	}
	all, err := agree(s.e, s.fn, ckptMessage{State: w.text}, err)
	if err != nil {
		return nil, err
	}
	s.state = w.text
	return w.tensors, s.compareStates(all)
}

// compareStates returns an error if the ranks have values that differ.
func (s *saver) compareStates(all []ckptMessage) error {
	for r := range all {
		if bytes.Equal(all[r].State, all[0].State) {
			continue
		}
		a, err := readState(all[0].State)
		if err != nil {
			return err
		}
		b, err := readState(all[r].State)
		if err != nil {
			return err
		}
		path, _ := differAt("", a, b)
		return &op.ArgError{Func: s.fn, Param: "state", Got: fmt.Sprintf("different keys or values at %q on ranks 0 and %d", path, r), Want: "the same on all ranks"}
	}
	return nil
}

// assign settles with all ranks who writes what of the tensors.
func (s *saver) assign(list []savedTensor) error {
	var offers []ckpt.Offer
	err := s.settle(list)
	if err == nil {
		offers, err = s.offers(list)
	}
	all, err := agree(s.e, s.fn, ckptMessage{Offers: offers}, err)
	if err != nil {
		return err
	}
	lists := make([][]ckpt.Offer, len(all))
	for r := range all {
		lists[r] = all[r].Offers
	}
	s.tensors, s.entries, err = ckpt.Assign(lists)
	var c *ckpt.ConflictError
	if errors.As(err, &c) {
		return &op.ArgError{Func: s.fn, Param: "state", Got: c.Got, Want: c.Want}
	}
	return err
}

// settle waits for the tensors, and sums up those that are Partial, which all
// ranks do together.
func (s *saver) settle(list []savedTensor) error {
	for i, n := range list {
		h, err := held(n.x, s.fn)
		if err != nil {
			return err
		}
		if !h.partial {
			continue
		}
		t, err := n.x.Tensor()
		if err != nil {
			return err
		}
		sum, err := s.e.Runtime.Shard.Redistribute(s.fn, t.Detach(), s.e.Runtime.Shard.GradLayout(t.Layout()))
		if err != nil {
			return err
		}
		list[i].x = s.e.Wrap(sum)
	}
	return nil
}

// offers returns what this rank holds of each tensor.
func (s *saver) offers(list []savedTensor) ([]ckpt.Offer, error) {
	offers := make([]ckpt.Offer, len(list))
	for i, n := range list {
		h, err := held(n.x, s.fn)
		if err != nil {
			return nil, err
		}
		x, err := s.e.Runtime.Do("contiguous", []*tensor.Tensor{h.local.Detach()})
		if err != nil {
			return nil, err
		}
		h.local = x
		s.local[n.path] = h
		o := ckpt.Offer{Name: n.path, DType: x.DType().String(), Shape: append([]int{}, h.shape...), Boxes: h.boxes, Sums: make([]ckpt.Sum, len(h.boxes))}
		err = h.each(x, func(k int, data []byte) error {
			o.Sums[k].AddBox(data, x.DType().Size(), h.shape, h.boxes[k])
			return nil
		})
		if err != nil {
			return nil, err
		}
		offers[i] = o
	}
	return offers, nil
}

// open opens the folder, which rank 0 makes, and returns the number of the save.
func (s *saver) open() (gen int, err error) {
	if s.e.Runtime.ID() == 0 {
		if s.root, err = folder(s.e, s.fn, s.dir, true); err == nil {
			gen, err = ckpt.Begin(s.root)
			err = s.failed(err)
		}
	}
	all, err := agree(s.e, s.fn, ckptMessage{Generation: gen}, err)
	if err != nil {
		return 0, err
	}
	if s.root == nil {
		s.root, err = folder(s.e, s.fn, s.dir, false)
	}
	_, err = agree(s.e, s.fn, ckptMessage{}, err)
	return all[0].Generation, err
}

// write writes this rank's file, and when all have theirs on disk, rank 0 makes
// them the checkpoint.
func (s *saver) write(gen int) error {
	file, err := s.writeFile(gen)
	all, err := agree(s.e, s.fn, ckptMessage{File: file}, s.failed(err))
	if err != nil {
		// A file that others may have made part of the checkpoint stays: an interrupt
		// may end this rank's wait for the answers when rank 0 has them all.
		var told *toldError
		if file != nil && errors.As(err, &told) {
			ckpt.Remove(s.root, file.Name) // the next save would
		}
		return err
	}
	if s.e.Runtime.ID() == 0 {
		files := make([]*ckpt.File, len(all))
		for r := range all {
			files[r] = all[r].File
		}
		err = ckpt.Commit(s.root, ckpt.Fresh(s.state, s.tensors, files, s.entries))
	}
	_, err = agree(s.e, s.fn, ckptMessage{}, s.failed(err))
	return err
}

// failed returns err, of the file system, as an error of the function.
func (s *saver) failed(err error) error {
	if err == nil {
		return nil
	}
	return &op.ResourceError{Func: s.fn, Err: fmt.Errorf("to %q: %s", s.dir, pathless(err))}
}

// writeFile writes what this rank is to write; nil stands for nothing.
func (s *saver) writeFile(gen int) (*ckpt.File, error) {
	entries := s.entries[s.e.Runtime.ID()]
	if len(entries) == 0 {
		return nil, nil
	}
	w, err := ckpt.Create(s.root, gen, s.e.Runtime.ID(), entries)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if err := s.writeEntry(w, &entries[i]); err != nil {
			w.Discard()
			return nil, err
		}
	}
	return w.Close()
}

// writeEntry writes a box that this rank holds.
func (s *saver) writeEntry(w io.Writer, entry *ckpt.Entry) error {
	h := s.local[entry.Name]
	return h.each(h.local, func(i int, data []byte) error {
		if !slices.Equal(h.boxes[i].Lo, entry.Box.Lo) {
			return nil
		}
		_, err := w.Write(data)
		return err
	})
}

// describeHeld returns h as errors show it: the dtype and the shape of the whole.
func describeHeld(h *stored) string { return ckpt.Describe(h.local.DType().String(), h.shape) }
