package builtins

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A Tensor is a tensor as scripts have it. Few of its Go interfaces get a
// thread, so it knows the Env it belongs to.
type Tensor struct {
	Env  *Env
	T    *tensor.Tensor // nil while work is under way
	work *runtime.Work  // of an asynchronous call that is to give t; else nil

	Distributed bool // what is under way is a distributed tensor

	Parameter bool // nn.Parameter made it: assigned to a module, it is a parameter

	// Buffered says that nn.Buffer made it: assigned to a module, it is a buffer; and
	// Transient that it is then not in the module's state.
	Buffered, Transient bool

	Lens Lens // of its own, such as that of a flat tensor; else nil
}

var (
	_ starlark.Value = (*Tensor)(nil)
	_ arg.Described  = (*Tensor)(nil)
)

// A plainResult is the result of an operator as scripts have it, one object of the collector with
// its tensor; a placedResult is one that ranks hold together.
type (
	plainResult struct {
		Tensor
		header tensor.Header
	}
	placedResult struct {
		Tensor
		header tensor.PlacedHeader
	}
)

// A result is the Tensor of a plainResult or of a placedResult, with the header there in which an
// operator may make its tensor; the other header is nil.
type result struct {
	x      *Tensor
	plain  *tensor.Header
	placed *tensor.PlacedHeader
}

// newResult returns what an operator is to fill, whose result is placed or plain.
func newResult(e *Env, placed bool) result {
	if placed {
		r := &placedResult{Tensor: Tensor{Env: e}}
		return result{x: &r.Tensor, placed: &r.header}
	}
	r := &plainResult{Tensor: Tensor{Env: e}}
	return result{x: &r.Tensor, plain: &r.header}
}

// wrap returns t, which the operator has made, as scripts have it: in r, unless it lies elsewhere.
func (r result) wrap(t *tensor.Tensor) *Tensor {
	if r.plain != nil && !r.plain.Has(t) || r.placed != nil && !r.placed.Has(t) {
		return r.x.Env.Wrap(t)
	}
	r.x.T = t
	return r.x
}

// Wrap returns t as scripts have it.
func (e *Env) Wrap(t *tensor.Tensor) *Tensor { return &Tensor{Env: e, T: t} }

// WrapWork returns the result of an asynchronous call, which has one. Whoever
// reads it first waits, and gets the call's error if nobody has had it.
func (e *Env) WrapWork(w *runtime.Work) *Tensor { return &Tensor{Env: e, work: w} }

// Tensor returns the tensor. That of an asynchronous call it waits for.
func (x *Tensor) Tensor() (*tensor.Tensor, error) {
	if x.T == nil {
		return x.await()
	}
	if b := x.T.Buffer(); b != nil && b.Dropped() {
		return x.T, b.Restore()
	}
	return x.T, nil
}

// await is get of the result of an asynchronous call.
func (x *Tensor) await() (*tensor.Tensor, error) {
	t, err := x.work.Wait()
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, &noResultError{x.work.Failed()}
	}
	x.T, x.work = t, nil
	return t, nil
}

// A noResultError says that a value was to come from an asynchronous call
// whose failure has been told before.
type noResultError struct{ cause error }

func (e *noResultError) Error() string {
	var f interface{ Function() string }
	name := "an asynchronous call"
	if errors.As(e.cause, &f) {
		name = f.Function()
	}
	return fmt.Sprintf("the result of %s was read, which has failed", name)
}

// Kind returns "other": what went wrong has been told.
func (e *noResultError) Kind() string { return "other" }

// TensorArg returns v, the argument called param of fn, which must be a
// tensor.
func (e *Env) TensorArg(fn, param string, v starlark.Value) (*tensor.Tensor, error) {
	x, ok := v.(*Tensor)
	if !ok {
		return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "a tensor"}
	}
	return x.Tensor()
}

// WrapOrNone returns t as scripts have it, None for nil.
func (e *Env) WrapOrNone(t *tensor.Tensor) starlark.Value {
	if t == nil {
		return starlark.None
	}
	return e.Wrap(t)
}

// FormatTensor returns how the elements of t are shown, in lines as wide as SetWidth
// says.
func FormatTensor(e *Env, t *tensor.Tensor) string {
	if t.Buffer() == nil || !t.Hollow() {
		return tensor.FormatTo(t, e.width)
	}
	if t.Numel() == 1 {
		return "?"
	}
	return fmt.Sprintf("? shape=%v dtype=%v", t.Shape(), t.DType())
}
