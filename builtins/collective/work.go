package collective

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
)

// A Work is a collective under way, the second result of a call with
// async_op=True.
type Work struct {
	env  *builtins.Env
	work *runtime.Work
}

var _ starlark.HasAttrs = (*Work)(nil)

func (w *Work) String() string                           { return "Work" }
func (w *Work) Type() string                             { return "Work" }
func (w *Work) Freeze()                                  {}
func (w *Work) Truth() starlark.Bool                     { return true }
func (w *Work) Hash() (uint32, error)                    { return 0, builtins.Unhashable(w) }
func (w *Work) Attr(name string) (starlark.Value, error) { return w.env.Attr("Work", w, name) }
func (w *Work) AttrNames() []string                      { return builtins.AttrNames("Work") }

func init() {
	builtins.Register(&builtins.Row{
		Name: "Work.wait",
		Doc: "wait() returns None when the call has ended. If it failed, and no read of its result has said so, that is the error.\n" +
			">>> y, work = all_reduce(tensor([1.0]), op=\"mean\", async_op=True)\n" +
			">>> work.wait()\n" +
			">>> y.tolist()\n[1.0]",
		Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
				return nil, err
			}
			_, err := b.Receiver().(*Work).work.Wait()
			return starlark.None, err
		},
	}, &builtins.Row{
		Name: "Work.is_completed",
		Doc: "is_completed() returns whether the call has ended. It may differ from one run to the next.\n" +
			">>> y, work = all_reduce(tensor([1.0]), async_op=True)\n" +
			">>> work.wait()\n" +
			">>> work.is_completed()\nTrue",
		Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return starlark.Bool(b.Receiver().(*Work).work.Done()), arg.Unpack(b.Name(), args, kwargs)
		},
	})
}

// WrapWork returns w as scripts have it.
func WrapWork(e *builtins.Env, w *runtime.Work) *Work { return &Work{e, w} }
