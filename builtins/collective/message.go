package collective

import (
	"errors"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

func init() {
	builtins.Register(&builtins.Row{
		Name:         "send",
		Communicates: true,
		Doc: "send(x, dst, tag=0, group=None) sends the tensor x to the member dst, and does not wait for it.\n" +
			"x may be changed afterwards. Messages of one source, tag and group are received in the order sent; one that\n" +
			"nobody receives is an error when the run ends. Gradients do not go along.\n" + docGroup +
			">>> send(tensor([rank()]), (rank() + 1) % world_size())\n" +
			">>> recv((rank() - 1) % world_size()).tolist() == [(rank() - 1) % world_size()]\nTrue",
		Fn: send,
	}, &builtins.Row{
		Name:         "recv",
		Communicates: true,
		Doc: "recv(src, tag=0, group=None) returns the next tensor that the member src has sent here with this tag.\n" +
			"It waits until there is one. Shape and dtype are those of the tensor that was sent.\n" + docGroup +
			">>> send(tensor([1.5, 2.5]), rank(), tag=3)\n" +
			">>> recv(rank(), tag=3).tolist()\n[1.5, 2.5]",
		Fn: recv,
	}, &builtins.Row{
		Name:         "barrier",
		Communicates: true,
		Doc: "barrier(group=None) returns when every member has called it.\n" + docGroup +
			">>> barrier()",
		Fn: barrier,
	})
}

func send(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x, group starlark.Value
		dst      builtins.EachInt
		tag      arg.Int
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor", &x, "dst", &dst, "tag?", &tag, "group|parallel_mode??", &group); err != nil {
		return nil, err
	}
	t, err := e.PlainArg(b.Name(), "x", x)
	if err != nil {
		var bad *op.ArgError
		if _, isDict := x.(*starlark.Dict); errors.As(err, &bad) && bad.Rule == "" && (isDict || builtins.IsList(x)) {
			bad.Rule = "scatter_object, broadcast_object and all_gather_object hand other values on"
		}
		return nil, err
	}
	g, err := GroupOf(e, b.Name(), group)
	if err != nil {
		return nil, err
	}
	if err := members(e, b.Name(), "dst", dst, g); err != nil {
		return nil, err
	}
	return starlark.None, e.Runtime.Send(g, t, runtime.Peer{Place: dst.Own, Of: dst.Of}, int(tag))
}

// intoTensor refuses a tensor to receive into, as PyTorch's recv takes one.
func intoTensor(fn string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	into := slices.ContainsFunc(kwargs, func(kw starlark.Tuple) bool { return kw[0] == starlark.String("tensor") })
	if len(args) > 0 {
		if x, ok := args[0].(*builtins.Tensor); ok {
			t, err := x.Tensor() // which may be under way
			if err != nil {
				return err
			}
			into = into || !t.DType().IsInt()
		}
	}
	if !into {
		return nil
	}
	return &op.ArgError{Func: fn, Got: "a tensor to receive into", Want: "src, a rank", Rule: "recv returns what has come: x = recv(src)"}
}

func recv(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		group starlark.Value
		src   builtins.EachInt
		tag   arg.Int
	)
	if err := intoTensor(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	if err := arg.Unpack(b.Name(), args, kwargs, "src", &src, "tag?", &tag, "group|parallel_mode??", &group); err != nil {
		return nil, err
	}
	g, err := GroupOf(e, b.Name(), group)
	if err != nil {
		return nil, err
	}
	if err := members(e, b.Name(), "src", src, g); err != nil {
		return nil, err
	}
	x, err := e.Runtime.Recv(g, runtime.Peer{Place: src.Own, Of: src.Of}, int(tag))
	if err != nil {
		return nil, err
	}
	return e.Wrap(x), nil
}

// members checks that ranks, the argument called name of fn, are ranks in g.
func members(e *builtins.Env, fn, name string, ranks builtins.EachInt, g *runtime.Group) error {
	if ranks.Of != nil {
		runtime.Asked(e.Runtime, func(rank int) string {
			if err := member(fn, name, ranks.Of(rank), g); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	return member(fn, name, ranks.Own, g)
}

func barrier(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var group starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "group|parallel_mode??", &group); err != nil {
		return nil, err
	}
	g, err := GroupOf(e, b.Name(), group)
	if err != nil {
		return nil, err
	}
	return starlark.None, e.Runtime.Barrier(g)
}
