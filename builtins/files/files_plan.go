package files

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/safetensors"
	"tpsh/runtime/ckpt"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// shadows are what the ranks of a plan would have written: files of which nothing
// is on disk, so that what a script writes and reads again has its text and its
// shapes. All ranks of a plan share them.
type shadows struct {
	mu    sync.Mutex
	files map[string]*shadow
	told  bool // that nothing is written
}

// A shadow is one file, or folder of a checkpoint.
type shadow struct {
	text  string
	array *shadowArray
	named []shadowArray
	meta  map[string]string
	state starlark.Value // of a checkpoint
	by    string         // the function that would write it
}

// A shadowArray is a tensor of a shadow.
type shadowArray struct {
	key   string
	dt    dtype.DType
	shape shape.Shape
}

func shadowOf(key string, t *tensor.Tensor) shadowArray {
	return shadowArray{key, t.DType(), t.Shape()}
}

// shadowWrite notes what fn would write at path. It reports false where the script
// runs for real.
func shadowWrite(e *builtins.Env, fn, path string, s *shadow) (bool, error) {
	if !e.Planning() {
		return false, nil
	}
	abs, err := absolute(e, path)
	if err == nil {
		err = folders(e).Check(abs)
	}
	if err != nil {
		return true, badPath(e, fn, path, err)
	}
	if e.Options.Shared == nil {
		return true, nil
	}
	all := builtins.SharedOf[shadows](e.Options.Shared)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.files == nil {
		all.files = map[string]*shadow{}
	}
	s.by = fn
	all.files[abs] = s
	if !all.told {
		all.told = true
		e.Runtime.Tell("a plan writes no files: " + fn + " at " + e.Line() + " and all that follow write nothing")
	}
	return true, nil
}

// shadowRead returns what a plan has noted at path, or nil.
func shadowRead(e *builtins.Env, path string) *shadow {
	abs, err := absolute(e, path)
	if err != nil || !e.Planning() || e.Options.Shared == nil {
		return nil
	}
	all := builtins.SharedOf[shadows](e.Options.Shared)
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.files[abs]
}

// checkShadow returns an error if a plan has noted at path what fn does not read.
func checkShadow(e *builtins.Env, fn, path string) error {
	s := shadowRead(e, path)
	if s == nil {
		return nil
	}
	return &op.ArgError{Func: fn, Param: "path", Got: starlark.String(path).String(), Want: "a file of the kind that it reads", Rule: "the plan has noted what " + s.by + " writes there"}
}

// make returns a tensor without elements like a.
func (a *shadowArray) make(e *builtins.Env, fn string) (*tensor.Tensor, error) {
	x, err := tensor.New(e.Runtime.Ops().Alloc, a.dt, a.shape)
	if err != nil {
		return nil, &op.ResourceError{Func: fn, Err: err}
	}
	return x, nil
}

// safetensors returns the file whose header is all that there is of it: nobody reads
// elements in a plan.
func (s *shadow) safetensors() (*safetensors.File, error) {
	size := len(s.text)
	for i := range s.named {
		size += s.named[i].shape.Numel() * s.named[i].dt.Size()
	}
	return safetensors.Open(strings.NewReader(s.text), int64(size))
}

// dict returns the named tensors of s.
func (s *shadow) dict(e *builtins.Env, fn string) (starlark.Value, error) {
	d := starlark.NewDict(len(s.named))
	for i := range s.named {
		x, err := s.named[i].make(e, fn)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(starlark.String(s.named[i].key), e.Wrap(x)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// shadowNames returns list as a shadow has it.
func shadowNames(list []namedValue) []shadowArray {
	out := make([]shadowArray, len(list))
	for i, v := range list {
		out[i] = shadowOf(v.key, v.t)
	}
	return out
}

// A shadowTensor stands for a tensor in the state of a checkpoint that a plan has
// noted: it belongs to no rank.
type shadowTensor struct {
	starlark.NoneType
	shadowArray
}

// shadowState returns a copy of v, a part of a state, that no rank changes.
func shadowState(v starlark.Value) (starlark.Value, error) {
	switch v := v.(type) {
	case *builtins.Tensor:
		h, err := held(v, "save_checkpoint")
		if err != nil {
			return nil, err
		}
		return shadowTensor{shadowArray: shadowArray{"", h.local.DType(), h.shape}}, nil
	case *starlark.Dict:
		d := starlark.NewDict(v.Len())
		for _, item := range v.Items() {
			x, err := shadowState(item[1])
			if err != nil {
				return nil, err
			}
			if err := d.SetKey(item[0], x); err != nil {
				return nil, err
			}
		}
		return d, nil
	case *starlark.List:
		list, err := shadowStates(v)
		return starlark.NewList(list), err
	case starlark.Tuple:
		list, err := shadowStates(v)
		return starlark.Tuple(list), err
	}
	return v, nil
}

func shadowStates(v starlark.Indexable) ([]starlark.Value, error) {
	list := make([]starlark.Value, v.Len())
	for i := range list {
		var err error
		if list[i], err = shadowState(v.Index(i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// refill fills have with saved, of a checkpoint that a plan has noted, and returns
// what is to stand in its place.
func refill(e *builtins.Env, path string, have, saved starlark.Value) (starlark.Value, error) {
	bad := func(got, want string) error {
		return &op.ArgError{Func: "load_checkpoint", Param: "state", Got: fmt.Sprintf("%s at %q", got, path), Want: want, Rule: "as the checkpoint has it"}
	}
	switch v := have.(type) {
	case *builtins.Tensor:
		h, err := held(v, "load_checkpoint")
		if err != nil {
			return nil, err
		}
		s, ok := saved.(shadowTensor)
		if !ok {
			return nil, bad(describeHeld(h), arg.Show(saved))
		}
		if !shape.Shape(h.shape).Equal(s.shape) || h.local.DType() != s.dt {
			return nil, bad(describeHeld(h), ckpt.Describe(s.dt.String(), s.shape))
		}
		return v, nil
	case *starlark.Dict:
		s, ok := saved.(*starlark.Dict)
		if !ok {
			return nil, bad(arg.Show(have), "what is no dict")
		}
		return v, refillDict(e, path, v, s)
	case *starlark.List:
		s, ok := saved.(*starlark.List)
		if !ok || !holdsTensor(v) {
			break
		}
		if s.Len() != v.Len() {
			return nil, bad("a list of "+strconv.Itoa(v.Len()), "a list of "+strconv.Itoa(s.Len()))
		}
		return v, refillEach(e, path, v, s, v.SetIndex)
	case starlark.Tuple:
		s, ok := saved.(starlark.Tuple)
		if !ok || len(s) != len(v) {
			break
		}
		filled := make(starlark.Tuple, len(v))
		return filled, refillEach(e, path, v, s, func(i int, x starlark.Value) error {
			filled[i] = x
			return nil
		})
	}
	return unshadow(e, saved)
}

// refillEach calls set with what is to stand in the place of each element of have, which is
// as long as saved.
func refillEach(e *builtins.Env, path string, have, saved starlark.Indexable, set func(i int, x starlark.Value) error) error {
	for i := range have.Len() {
		x, err := refill(e, builtins.JoinPath(path, strconv.Itoa(i)), have.Index(i), saved.Index(i))
		if err != nil {
			return err
		}
		if err := set(i, x); err != nil {
			return err
		}
	}
	return nil
}

func refillDict(e *builtins.Env, path string, have, saved *starlark.Dict) error {
	items, empty := have.Items(), have.Len() == 0
	if empty {
		items = saved.Items()
	}
	for _, item := range items {
		key, _ := starlark.AsString(item[0])
		from, found, err := saved.Get(item[0])
		if err != nil || !found {
			return noSuchKey("load_checkpoint", path, item[0], shadowKeys(saved))
		}
		old := item[1]
		if empty {
			old = starlark.None
		}
		x, err := refill(e, builtins.JoinPath(path, key), old, from)
		if err != nil {
			return err
		}
		if err := have.SetKey(item[0], x); err != nil {
			return err
		}
	}
	return nil
}

// shadowKeys returns the keys of d that are strings.
func shadowKeys(d *starlark.Dict) []string {
	var keys []string
	for _, k := range d.Keys() {
		if s, ok := starlark.AsString(k); ok {
			keys = append(keys, s)
		}
	}
	return keys
}

// unshadow returns saved as values of this rank.
func unshadow(e *builtins.Env, saved starlark.Value) (starlark.Value, error) {
	switch v := saved.(type) {
	case *builtins.Unknown:
		return v.Of(e), nil
	case shadowTensor:
		x, err := v.make(e, "load_checkpoint")
		if err != nil {
			return nil, err
		}
		return e.Wrap(x), nil
	case *starlark.Dict:
		d := starlark.NewDict(v.Len())
		return d, refillDict(e, "", d, v)
	case *starlark.List:
		list, err := unshadowAll(e, v)
		return starlark.NewList(list), err
	case starlark.Tuple:
		list, err := unshadowAll(e, v)
		return starlark.Tuple(list), err
	}
	return saved, nil
}

// unshadowAll is unshadow of each element of v.
func unshadowAll(e *builtins.Env, v starlark.Indexable) ([]starlark.Value, error) {
	list := make([]starlark.Value, v.Len())
	for i := range list {
		var err error
		if list[i], err = unshadow(e, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}
