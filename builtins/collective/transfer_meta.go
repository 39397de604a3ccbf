package collective

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Texts that the documentation of several functions has in common.
const (
	docPeers = "prev_rank and next_rank are global ranks; without them the neighbours are those in the\n" +
		"pipeline of init_parallel, which is a ring.\n"
	docSends = "What is sent is a tensor or a list of tensors, each a message of its own, or None for\n" +
		"nothing. A send does not wait. Traces and faults know it as send and recv, too.\n"
	docReceives = "A shape, or a list of shapes, says what is to come; a list gives a list. Floats that come\n" +
		"require grad, though no gradient flows back by itself. dtype is that of all, or a list\n" +
		"with one for each shape. Another shape or dtype is an error, and has been received.\n"
	docScatter = "With scatter_gather_tensors, at both ends, each tensor whose elements the tensor ranks can\n" +
		"share out evenly goes in parts, one from each tensor rank, and is gathered there.\n"
	docOnTheRing = "It acts on every stage: the last one's next is the first. A payload of None or recv_prev\n" +
		"or recv_next of False leaves a direction out.\n"
)

func init() {
	builtins.Register(&builtins.Row{
		Name:         "send_tensor_meta",
		Communicates: true,
		Doc: "send_tensor_meta(tensor, need_meta=True, next_rank=None) returns False, and if need_meta sends the shape of a tensor, or of each in a list, to the next stage.\n" +
			"Each shape is two messages: the number of dims, and the sizes. The result is for the\n" +
			"variable that need_meta comes from, so that shapes go once. It acts on every stage: the\n" +
			"last one's next is the first.\n" + docPeers +
			">>> init_parallel(data=world_size())  # each rank is its own neighbour\n" +
			">>> send_tensor_meta(ones(5, 1, 2))\nFalse\n" +
			">>> recv_tensor_meta(None)\n(5, 1, 2)",
		Fn: sendTensorMeta,
	}, &builtins.Row{
		Name:         "recv_tensor_meta",
		Communicates: true,
		Doc: "recv_tensor_meta(tensor_shape, prev_rank=None) returns tensor_shape, or if that is None the shape that the stage before has sent.\n" +
			"It is a tuple; after a list of several tensors it is a list of tuples.\n" + docPeers +
			">>> recv_tensor_meta((2, 3))\n(2, 3)",
		Fn: recvTensorMeta,
	}, &builtins.Row{
		Name:         "ring_forward",
		Communicates: true,
		Doc: "ring_forward(tensor_send_next, parallel_mode) returns the tensor of the member before, and sends the next one its own.\n" +
			"The first member comes after the last. Shapes and dtypes are those of all members.\n" +
			"parallel_mode is a ParallelMode, a Group, or None for all ranks. The result is a leaf, which requires grad if it is a float.\n" +
			">>> init_parallel()\n" +
			">>> ring_forward(tensor([4.0]), ParallelMode.PIPELINE).tolist()\n[4.0]",
		Fn: ringForward,
	})
}

func sendTensorMeta(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		xs   builtins.Tensors
		need = arg.Bool(true)
		next arg.OptInt
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "tensor", &xs, "need_meta?", &need, "next_rank?", &next); err != nil {
		return nil, err
	}
	if !need {
		return starlark.False, nil
	}
	stage, err := e.Runtime.Stage(b.Name())
	if err != nil {
		return nil, err
	}
	peer, err := peer(e, b.Name(), "next_rank", next, stage.Next)
	if err != nil {
		return nil, err
	}
	return starlark.False, e.Runtime.SendMeta(b.Name(), xs, peer)
}

func recvTensorMeta(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		known starlark.Value
		prev  arg.OptInt
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "tensor_shape", &known, "prev_rank?", &prev); err != nil {
		return nil, err
	}
	if known != starlark.None {
		return known, arg.In(b.Name(), "tensor_shape", new(shapes).Unpack(known))
	}
	stage, err := e.Runtime.Stage(b.Name())
	if err != nil {
		return nil, err
	}
	peer, err := peer(e, b.Name(), "prev_rank", prev, stage.Prev)
	if err != nil {
		return nil, err
	}
	list, err := e.Runtime.RecvMeta(b.Name(), peer)
	if err != nil {
		return nil, err
	}
	return shapeTuples(list), nil
}

// shapeTuples returns shapes as scripts have them: one, or a list.
func shapeTuples(list []shape.Shape) starlark.Value {
	if len(list) == 1 {
		return builtins.ShapeTuple(list[0])
	}
	values := make([]starlark.Value, len(list))
	for i, s := range list {
		values[i] = builtins.ShapeTuple(s)
	}
	return starlark.NewList(values)
}

func ringForward(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x    builtins.OneTensor
		mode starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "tensor_send_next", &x, "parallel_mode|group??", &mode); err != nil {
		return nil, err
	}
	g, err := GroupOf(e, b.Name(), mode)
	if err != nil {
		return nil, err
	}
	ring := runtime.Collective{Op: b.Name()}
	for i := range g.Size() {
		ring.Pairs = append(ring.Pairs, [2]int{i, (i + 1) % g.Size()})
	}
	y, err := e.Runtime.Run(g, ring, x.T.Detach())
	if err != nil {
		return nil, err
	}
	if y.DType().Differentiable() {
		y.Auto = &tensor.Auto{Requires: true, Passing: true}
	}
	return e.Wrap(y), nil
}
