package nn

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Modules that undo max pooling, and losses that a script gives the distance to.
func init() {
	for n := 1; n <= 3; n++ {
		shape := "(ones(1, 1" + repeated(n) + "))"
		call := fmt.Sprintf("nn.MaxUnpool%dd(2)(*nn.MaxPool%dd(2, return_indices=True)%s)", n, n, shape)
		l := &layer{name: fmt.Sprintf("MaxUnpool%dd", n), fields: windows,
			doc: fmt.Sprintf("MaxUnpool%dd(kernel_size, stride=None, padding=0) returns a module that applies F.max_unpool%dd.\nA call m(input, indices, output_size=None) takes what MaxPool%dd with return_indices returns.\n>>> %s.shape\n(1, 1%s)", n, n, n, call, repeated(n))}
		builtins.Register(l.rowOf(unpools(fmt.Sprintf("max_unpool%dd", n))))
	}
	distance := &layer{name: "TripletMarginWithDistanceLoss", fields: layerFields(`distance_function=None, margin=1.0, swap=False, reduction="mean"`),
		doc: "TripletMarginWithDistanceLoss(distance_function=None, margin=1.0, swap=False, reduction=\"mean\") returns a module that applies F.triplet_margin_with_distance_loss to anchor, positive, negative.\n" +
			">>> nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))(zeros(1, 1), ones(1, 1), ones(1, 1)).item()\n1.0"}
	builtins.Register(distance.rowOf(func(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		for _, f := range distance.names() {
			kwargs = append(kwargs, starlark.Tuple{starlark.String(f), m.Get(f)})
		}
		return distanceLoss(m.env, thread, m.Class.Name, args, kwargs)
	}), &builtins.Row{Name: "F.triplet_margin_with_distance_loss",
		Doc: "triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=None, margin=1.0, swap=False, reduction=\"mean\") returns the mean of max(d(anchor, positive) - d(anchor, negative) + margin, 0).\n" +
			"d is distance_function, a function of two tensors, or F.pairwise_distance. With swap the\n" +
			"lesser of d(anchor, negative) and d(positive, negative) counts. reduction is \"mean\", \"sum\" or \"none\".\n" +
			">>> F.triplet_margin_with_distance_loss(zeros(1, 1), ones(1, 1), ones(1, 1), distance_function=lambda x, y: (x - y).abs().sum(-1)).item()\n1.0",
		Fn: func(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return distanceLoss(e, thread, b.Name(), args, kwargs)
		}})
}

// unpools returns the forward function of MaxUnpool, by the name of its function of F.
func unpools(name string) forwardFunc {
	return func(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x, indices starlark.Value
		var size starlark.Value = starlark.None
		if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x, "indices", &indices, "output_size?", &size); err != nil {
			return nil, err
		}
		given := []starlark.Tuple{{starlark.String("output_size"), size}}
		for _, f := range []string{"kernel_size", "stride", "padding"} {
			given = append(given, starlark.Tuple{starlark.String(f), m.Get(f)})
		}
		return builtins.CallF(m.env, name, starlark.Tuple{x, indices}, given)
	}
}

// distanceLoss is triplet_margin_with_distance_loss, for the function fn.
func distanceLoss(e *builtins.Env, thread *starlark.Thread, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		anchor, positive, negative starlark.Value
		distance                   starlark.Value = starlark.None
		margin                                    = arg.Float(1)
		swap                       arg.Bool
		how                        starlark.Value = starlark.String("mean")
	)
	if err := arg.Unpack(fn, args, kwargs, "anchor", &anchor, "positive", &positive, "negative", &negative,
		"distance_function?", &distance, "margin?", &margin, "swap?", &swap, "reduction?", &how); err != nil {
		return nil, err
	}
	if err := builtins.CheckChoice(fn, "reduction", "mse_loss", how); err != nil {
		return nil, err
	}
	f, ok := distance.(starlark.Callable)
	if distance == starlark.None {
		f, ok = builtins.FunctionOfF("pairwise_distance"), true
	}
	if !ok {
		return nil, arg.In(fn, "distance_function", arg.Bad(distance, "a function of two tensors, or None", ""))
	}
	c := &builtins.OpChain{E: e, Fn: fn}
	between := func(x, y starlark.Value) *tensor.Tensor {
		if c.Err != nil {
			return nil
		}
		v, err := starlark.Call(thread, f, starlark.Tuple{x, y}, nil)
		if err != nil {
			c.Fail(err)
			return nil
		}
		t, err := builtins.ToTensor(v)
		c.Fail(arg.In(fn, "distance_function", err))
		return t
	}
	near, far := between(anchor, positive), between(anchor, negative)
	if bool(swap) && c.Err == nil {
		far = c.Do("minimum", []*tensor.Tensor{far, between(positive, negative)})
	}
	y := c.Do("add", []*tensor.Tensor{c.Do("sub", []*tensor.Tensor{near, far}), tensor.Number(float64(margin))})
	y = c.Do("clamp", []*tensor.Tensor{y}, op.Float1(0), op.None)
	if r, _ := starlark.AsString(how); r != "none" {
		y = c.Do(r, []*tensor.Tensor{y}, op.None, op.Bool1(false))
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return e.Wrap(y), nil
}
