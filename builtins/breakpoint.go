package builtins

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/builtins/object"
	"tpsh/mesh"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{Name: "breakpoint", Fn: breakpoint,
		Doc: "breakpoint() stops all ranks there and lets the user look around, step and go on: under tpsh run, test and repl at a terminal, and under tpsh debug and tpsh dap.\n" +
			"Elsewhere it is an error: nobody is there to let the program go on.\n" +
			">>> attempt(breakpoint).ok\nFalse"})
}

// breakpointKey is the thread-local of the function that stops the program; see
// lang.BreakpointKey.
const breakpointKey = "tpsh.breakpoint"

func breakpoint(_ *Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	stop, _ := thread.Local(breakpointKey).(func(*starlark.Thread) error)
	if stop == nil {
		return nil, errors.New("breakpoint: there is no debugger here, want a terminal for input and output, or tpsh debug")
	}
	return starlark.None, stop(thread)
}

// Watch implements lang.Onlooker.
func (e *Env) Watch(begin func(call fmt.Stringer, collective bool) (over func())) {
	e.Runtime.Waits = begin
}

// Aside implements lang.Onlooker.
func (e *Env) Aside(thread *starlark.Thread) (release func()) {
	thread.SetLocal(threadKey, e)
	return e.Runtime.Aside()
}

// Digest implements lang.Onlooker: values differ if their encodings do. Distributed
// tensors that are cut, or partial, differ if their layouts do.
func (e *Env) Digest(v starlark.Value) string {
	data, err := object.Append(nil, v, func(dst []byte, v starlark.Value) ([]byte, error) {
		x, ok := v.(*Tensor)
		if !ok {
			return append(dst, v.Type()+v.String()...), nil
		}
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		dst = append(dst, DescribeTensor(e, t)...)
		if t.Placed() {
			if !replicated(t.Layout()) {
				return dst, nil // its blocks differ by nature
			}
			t = t.Local()
		}
		if t.Buffer() == nil || t.Hollow() {
			return dst, nil
		}
		if t, err = e.Runtime.Do("contiguous", []*tensor.Tensor{t.Detach()}); err != nil {
			return nil, err
		}
		return append(dst, t.Bytes()...), nil
	})
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// replicated reports whether every rank of a layout has all elements.
func replicated(l *mesh.Placed) bool {
	return !slices.ContainsFunc(l.Placements(), func(p mesh.Placement) bool { return !p.IsReplicate() })
}
