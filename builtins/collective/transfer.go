package collective

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A transfer is how scripts call one of the exchanges between stages.
type transfer struct {
	name   string
	params string // as arg.Unpack has them
	// absent reports of a stage that the call does nothing there; nil where
	// it always acts.
	absent func(s runtime.Stage) bool
}

// transfers are ColossalAI's exchanges between stages. What one sends and
// receives is told by its parameters.
var transfers = []transfer{
	{"recv_forward", "input_tensor_shape prev_rank? dtype? scatter_gather_tensors?", runtime.Stage.First},
	{"recv_backward", "output_grad_shape next_rank? dtype? scatter_gather_tensors?", runtime.Stage.Last},
	{"send_forward", "output_tensor next_rank? scatter_gather_tensors?", runtime.Stage.Last},
	{"send_backward", "input_tensor_grad prev_rank? scatter_gather_tensors?", runtime.Stage.First},
	{"send_forward_recv_backward", "output_tensor output_grad_shape recv_next? next_rank? dtype? scatter_gather_tensors?", runtime.Stage.Last},
	{"send_backward_recv_forward", "input_tensor_grad input_tensor_shape recv_prev? prev_rank? dtype? scatter_gather_tensors?", runtime.Stage.First},
	{"send_forward_recv_forward", "output_tensor input_tensor_shape recv_prev? prev_rank? next_rank? dtype? scatter_gather_tensors?", nil},
	{"send_backward_recv_backward", "input_tensor_grad output_grad_shape recv_next? prev_rank? next_rank? dtype? scatter_gather_tensors?", nil},
	{"send_forward_backward_recv_forward_backward", "output_tensor input_tensor_grad input_tensor_shape output_grad_shape recv_prev? recv_next? prev_rank? next_rank? dtype? scatter_gather_tensors?", nil},
}

// A transferCall holds the arguments of one call.
type transferCall struct {
	output, grad         payload
	inShape, gradShape   shapes
	recvPrev, recvNext   arg.Bool
	prevRank, nextRank   arg.OptInt
	dtypes               dtypes
	scatter              arg.Bool
	wantsPrev, wantsNext bool // the function has a shape for what comes from there
}

// variable returns where the argument called name goes.
func (c *transferCall) variable(name string) any {
	switch name {
	case "output_tensor":
		return &c.output
	case "input_tensor_grad":
		return &c.grad
	case "input_tensor_shape":
		c.wantsPrev = true
		return &c.inShape
	case "output_grad_shape":
		c.wantsNext = true
		return &c.gradShape
	case "recv_prev":
		return &c.recvPrev
	case "recv_next":
		return &c.recvNext
	case "prev_rank":
		return &c.prevRank
	case "next_rank":
		return &c.nextRank
	case "dtype":
		return &c.dtypes
	default: // scatter_gather_tensors
		return &c.scatter
	}
}

// call carries out a call of a script.
func (k *transfer) call(e *builtins.Env, _ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := &transferCall{recvPrev: true, recvNext: true, dtypes: dtypes{list: []dtype.DType{dtype.Float32}}}
	var pairs []any
	for _, p := range strings.Fields(k.params) {
		pairs = append(pairs, p, c.variable(strings.TrimSuffix(p, "?")))
	}
	if err := arg.Unpack(k.name, args, kwargs, pairs...); err != nil {
		return nil, err
	}
	stage, err := e.Runtime.Stage(k.name)
	if err != nil {
		return nil, err
	}
	t := &runtime.Transfer{Func: k.name, ToNext: c.output.list, ToPrev: c.grad.list, Scatter: bool(c.scatter)}
	if t.Prev, err = peer(e, k.name, "prev_rank", c.prevRank, stage.Prev); err != nil {
		return nil, err
	}
	if t.Next, err = peer(e, k.name, "next_rank", c.nextRank, stage.Next); err != nil {
		return nil, err
	}
	if k.absent != nil && k.absent(stage) {
		return starlark.None, nil
	}
	if t.FromPrev, err = c.expected(k.name, "input_tensor_shape", c.wantsPrev && bool(c.recvPrev), &c.inShape); err != nil {
		return nil, err
	}
	if t.FromNext, err = c.expected(k.name, "output_grad_shape", c.wantsNext && bool(c.recvNext), &c.gradShape); err != nil {
		return nil, err
	}
	prev, next, err := e.Runtime.Transfer(t)
	if err != nil {
		return nil, err
	}
	return c.result(e, prev, next), nil
}

// result returns what the function gives.
func (c *transferCall) result(e *builtins.Env, prev, next []*tensor.Tensor) starlark.Value {
	x, dy := received(e, prev, &c.inShape), received(e, next, &c.gradShape)
	switch {
	case c.wantsPrev && c.wantsNext:
		return starlark.Tuple{x, dy}
	case c.wantsPrev:
		return x
	}
	return dy
}

// received returns what has arrived: None if nothing was awaited, and a list
// if a list of shapes was given.
func received(e *builtins.Env, xs []*tensor.Tensor, s *shapes) starlark.Value {
	switch {
	case xs == nil:
		return starlark.None
	case s.single:
		return e.Wrap(xs[0])
	}
	list := make([]starlark.Value, len(xs))
	for i, x := range xs {
		list[i] = e.Wrap(x)
	}
	return starlark.NewList(list)
}

// expected returns what is to arrive, in the shapes s, the argument param of
// fn; nil if nothing is.
func (c *transferCall) expected(fn, param string, awaited bool, s *shapes) (*runtime.Expected, error) {
	if !awaited {
		return nil, nil
	}
	if s.list == nil {
		return nil, &op.ArgError{Func: fn, Param: param, Got: "None", Want: "a shape or a list of shapes", Rule: "something is to be received"}
	}
	dts := c.dtypes.list
	if !c.dtypes.each {
		dts = make([]dtype.DType, len(s.list))
		for i := range dts {
			dts[i] = c.dtypes.list[0]
		}
	}
	if len(dts) != len(s.list) {
		return nil, &op.ArgError{Func: fn, Param: "dtype", Got: "a list of " + units.Count(len(dts), "dtype"), Want: fmt.Sprint(len(s.list)), Rule: "one for each shape"}
	}
	return &runtime.Expected{Param: param, Shapes: s.list, DTypes: dts}, nil
}

// peer returns the rank that the argument called name of fn gives, or else
// def.
func peer(e *builtins.Env, fn, name string, v arg.OptInt, def int) (int, error) {
	if !v.Set {
		return def, nil
	}
	rank := int(v.V)
	if rank < 0 || rank >= e.Runtime.Size() {
		return 0, &op.ArgError{Func: fn, Param: name, Got: fmt.Sprint(rank), Want: fmt.Sprintf("0..%d", e.Runtime.Size()-1), Rule: "a global rank"}
	}
	return rank, nil
}

// payload is an argument that is sent: a tensor, a list of tensors, or None.
type payload struct{ list builtins.Tensors }

// Unpack implements starlark.Unpacker.
func (p *payload) Unpack(v starlark.Value) error {
	switch v.(type) {
	case starlark.NoneType:
		return nil
	case *builtins.Tensor, *starlark.List, starlark.Tuple:
		return p.list.Unpack(v)
	}
	return arg.Bad(v, "a tensor, a list of tensors or None", "")
}

// shapes is an argument that is a shape, a list of shapes, or None.
type shapes struct {
	list   []shape.Shape // nil for None
	single bool
}

// Unpack implements starlark.Unpacker.
func (p *shapes) Unpack(v starlark.Value) error {
	if v == starlark.None {
		return nil
	}
	var list arg.List
	if err := list.Unpack(v); err != nil || !holdsShapes(list) {
		var s arg.Shape
		if err := s.Unpack(v); err != nil {
			return err
		}
		p.list, p.single = []shape.Shape{shape.Shape(s)}, true
		return nil
	}
	for i, v := range list {
		var s arg.Shape
		if _, number := v.(starlark.Int); number || s.Unpack(v) != nil {
			return arg.BadItem(v, i, "a shape")
		}
		p.list = append(p.list, shape.Shape(s))
	}
	return nil
}

// holdsShapes reports whether list, an argument that is a shape or a list of
// shapes, is the latter.
func holdsShapes(list arg.List) bool {
	for _, v := range list {
		if s, err := builtins.Sequence(v); s != nil || err != nil {
			return true
		}
	}
	return false
}

// dtypes is an argument that is a dtype, or a list of dtypes.
type dtypes struct {
	list []dtype.DType
	each bool // it is a list
}

// Unpack implements starlark.Unpacker.
func (p *dtypes) Unpack(v starlark.Value) error {
	var list arg.List
	if err := list.Unpack(v); err != nil {
		var dt arg.DType
		err := dt.Unpack(v)
		p.list = []dtype.DType{dt.D}
		return err
	}
	p.list, p.each = nil, true
	for i, v := range list {
		var dt arg.DType
		if err := dt.Unpack(v); err != nil {
			return arg.BadItem(v, i, "a dtype")
		}
		p.list = append(p.list, dt.D)
	}
	return nil
}

// transferDocs are the documentation of transfers.
var transferDocs = map[string]string{
	"recv_forward": "recv_forward(input_tensor_shape, prev_rank=None, dtype=float32, scatter_gather_tensors=False) returns the input of this stage, from the one before; None on the first stage.\n" +
		docReceives + docPeers + docScatter +
		">>> init_parallel()\n" +
		">>> print(recv_forward((2, 3)))\nNone",
	"recv_backward": "recv_backward(output_grad_shape, next_rank=None, dtype=float32, scatter_gather_tensors=False) returns the gradient of this stage's output, from the one after; None on the last stage.\n" +
		docReceives + docPeers + docScatter +
		">>> init_parallel()\n" +
		">>> print(recv_backward((2, 3)))\nNone",
	"send_forward": "send_forward(output_tensor, next_rank=None, scatter_gather_tensors=False) sends the output of this stage to the one after; the last stage sends nothing.\n" +
		docSends + docPeers + docScatter +
		">>> init_parallel()\n" +
		">>> send_forward(ones(2, 3))",
	"send_backward": "send_backward(input_tensor_grad, prev_rank=None, scatter_gather_tensors=False) sends the gradient of this stage's input to the one before; the first stage sends nothing.\n" +
		docSends + docPeers + docScatter +
		">>> init_parallel()\n" +
		">>> send_backward(ones(2, 3))",
	"send_forward_recv_backward": "send_forward_recv_backward(output_tensor, output_grad_shape, recv_next=True, next_rank=None, dtype=float32, scatter_gather_tensors=False) returns the gradient of this stage's output, to whose next stage it sends that.\n" +
		"On the last stage it does nothing and returns None, as without recv_next.\n" +
		docSends + docReceives + docPeers + docScatter +
		">>> init_parallel()\n" +
		">>> print(send_forward_recv_backward(ones(2), (2,)))\nNone",
	"send_backward_recv_forward": "send_backward_recv_forward(input_tensor_grad, input_tensor_shape, recv_prev=True, prev_rank=None, dtype=float32, scatter_gather_tensors=False) returns the next input of this stage, and sends the gradient of the last one back.\n" +
		"On the first stage it does nothing and returns None, as without recv_prev.\n" +
		docSends + docReceives + docPeers + docScatter +
		">>> init_parallel()\n" +
		">>> print(send_backward_recv_forward(ones(2), (2,)))\nNone",
	"send_forward_recv_forward": "send_forward_recv_forward(output_tensor, input_tensor_shape, recv_prev=True, prev_rank=None, next_rank=None, dtype=float32, scatter_gather_tensors=False) returns the next input of this stage, and sends its output on.\n" +
		docOnTheRing + docSends + docReceives + docPeers + docScatter +
		">>> init_parallel(data=world_size())  # each rank is its own neighbour\n" +
		">>> send_forward_recv_forward(tensor([1.0, 2.0]), (2,)).tolist()\n[1.0, 2.0]",
	"send_backward_recv_backward": "send_backward_recv_backward(input_tensor_grad, output_grad_shape, recv_next=True, prev_rank=None, next_rank=None, dtype=float32, scatter_gather_tensors=False) returns the gradient of this stage's output, and sends that of its input back.\n" +
		docOnTheRing + docSends + docReceives + docPeers + docScatter +
		">>> init_parallel(data=world_size())  # each rank is its own neighbour\n" +
		">>> send_backward_recv_backward(tensor([1.0, 2.0]), (2,)).tolist()\n[1.0, 2.0]",
	"send_forward_backward_recv_forward_backward": "send_forward_backward_recv_forward_backward(output_tensor, input_tensor_grad, input_tensor_shape, output_grad_shape, recv_prev=True, recv_next=True, prev_rank=None, next_rank=None, dtype=float32, scatter_gather_tensors=False) returns (input, gradient of the output), and sends the output on and the gradient of the input back.\n" +
		docOnTheRing + docSends + docReceives + docPeers + docScatter +
		">>> init_parallel(data=world_size())  # each rank is its own neighbour\n" +
		">>> x, dy = send_forward_backward_recv_forward_backward(tensor([1.0]), tensor([2.0, 3.0]), (1,), (2,))\n" +
		">>> x.tolist(), dy.tolist()\n([1.0], [2.0, 3.0])",
}

func init() {
	for i := range transfers {
		k := &transfers[i]
		builtins.Register(&builtins.Row{Name: k.name, Communicates: true, Doc: transferDocs[k.name], Fn: k.call})
	}
}
