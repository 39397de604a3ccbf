package nn

import (
	"fmt"
	"math"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A cell is a kind of recurrent network: how its state follows from the one
// before and from what is put in. Gates is how many numbers it computes of each
// of its features.
type cell struct {
	name  string
	gates int
	two   bool // the state is h and c
	// step returns the state after h (and c) of the inputs' part x and the state's
	// part y of the gates, both with their biases, [n, gates * hidden].
	step func(r *recurrence, x, y, h, c *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor)
}

var (
	rnnCell  = &cell{"RNN", 1, false, stepRNN}
	gruCell  = &cell{"GRU", 3, false, stepGRU}
	lstmCell = &cell{"LSTM", 4, true, stepLSTM}
)

// A recurrence is a call of a recurrent module.
type recurrence struct {
	builtins.OpChain
	m        *Module
	cell     *cell
	hidden   int
	proj     int  // the features that h is projected to, 0 if it is not
	relu     bool // of an RNN, instead of tanh
	dropout  float64
	layers   int
	turned   bool // there is a second direction
	first    bool // the batch comes first
	unbatch  bool // there is no batch
	in       int
	training bool
	sizes    []int // of packed input how many sequences have each step, nil of other
}

func stepRNN(r *recurrence, x, y, _, _ *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	sum := r.pair("add", x, y)
	if r.relu {
		return r.one("relu", sum), nil
	}
	return r.one("tanh", sum), nil
}

// stepLSTM is
//
//	i, f, g, o = the gates
//	c = σ(f) c + σ(i) tanh(g)
//	h = σ(o) tanh(c)
//
// Hochreiter and Schmidhuber, "Long short-term memory", 1997.
func stepLSTM(r *recurrence, x, y, _, c *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	g := r.parts(r.pair("add", x, y))
	c = r.pair("add", r.pair("mul", r.one("sigmoid", g[1]), c), r.pair("mul", r.one("sigmoid", g[0]), r.one("tanh", g[2])))
	return r.pair("mul", r.one("sigmoid", g[3]), r.one("tanh", c)), c
}

// stepGRU is
//
//	r, z, n = the gates
//	n = tanh(x_n + σ(r) y_n)
//	h = (1 - σ(z)) n + σ(z) h
//
// Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.
func stepGRU(r *recurrence, x, y, h, _ *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	xs, ys := r.parts(x), r.parts(y)
	reset := r.one("sigmoid", r.pair("add", xs[0], ys[0]))
	update := r.one("sigmoid", r.pair("add", xs[1], ys[1]))
	fresh := r.one("tanh", r.pair("add", xs[2], r.pair("mul", reset, ys[2])))
	return r.pair("add", fresh, r.pair("mul", update, r.pair("sub", h, fresh))), nil
}

func (r *recurrence) one(name string, x *tensor.Tensor) *tensor.Tensor {
	return r.Do(name, []*tensor.Tensor{x})
}

func (r *recurrence) pair(name string, x, y *tensor.Tensor) *tensor.Tensor {
	return r.Do(name, []*tensor.Tensor{x, y})
}

// parts returns the gates of x [n, gates * hidden].
func (r *recurrence) parts(x *tensor.Tensor) []*tensor.Tensor {
	return r.All("chunk", []*tensor.Tensor{x}, r.cell.gates, op.Int1(r.cell.gates), op.Int1(-1))
}

// weight returns a parameter of the module, or nil if it is None.
func (r *recurrence) weight(name string) *tensor.Tensor {
	x, ok := r.m.Get(name).(*builtins.Tensor)
	if !ok {
		return nil
	}
	t, err := x.Tensor()
	r.Fail(err)
	return t
}

// A direction is one layer in one direction: what its steps need.
type direction struct {
	in     *tensor.Tensor // the inputs' part of the gates
	wh, bh *tensor.Tensor
	wr     *tensor.Tensor // projects h, or nil
	back   bool
}

// direct returns the direction of a suffix over x [l, n, in], or [steps, in] of packed input.
func (r *recurrence) direct(x *tensor.Tensor, suffix string, back bool) *direction {
	d := &direction{wh: r.weight("weight_hh" + suffix), bh: r.weight("bias_hh" + suffix), back: back}
	if r.proj > 0 {
		d.wr = r.weight("weight_hr" + suffix)
	}
	d.in = r.Do("linear", []*tensor.Tensor{x, r.weight("weight_ih" + suffix), r.weight("bias_ih" + suffix)})
	return d
}

// next returns the state after h (and c) of the inputs' part at of the gates, [n, gates * hidden].
func (r *recurrence) next(d *direction, at, h, c *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	h, c = r.cell.step(r, at, r.Do("linear", []*tensor.Tensor{h, d.wh, d.bh}), h, c)
	if d.wr != nil {
		h = r.Do("linear", []*tensor.Tensor{h, d.wr, nil})
	}
	return h, c
}

// layer runs d from the state h, c, [n, state] and [n, hidden], and returns what it gives,
// [l, n, state], and its last state.
func (r *recurrence) layer(d *direction, h, c *tensor.Tensor) (y, hn, cn *tensor.Tensor) {
	if r.Err != nil {
		return nil, nil, nil
	}
	n := d.in.Shape()[0]
	list := make([]*tensor.Tensor, n)
	for i := range n {
		if d.back {
			i = n - 1 - i
		}
		at := r.Do("select", []*tensor.Tensor{d.in}, op.Int1(0), op.Int1(i))
		h, c = r.next(d, at, h, c)
		if list[i] = h; r.Err != nil {
			return nil, nil, nil
		}
	}
	return r.Do("stack", list, op.Int1(0)), h, c
}

// run runs all layers over x [l, n, in], or packed [steps, in], from the states h
// [layers * directions, n, state] and c [layers * directions, n, hidden].
func (r *recurrence) run(x, h, c *tensor.Tensor) (y, hn, cn *tensor.Tensor) {
	var hs, cs []*tensor.Tensor
	for k := range r.layers {
		var ys []*tensor.Tensor
		for d, turn := range []string{"", "_reverse"} {
			if d == 1 && !r.turned {
				break
			}
			at := len(hs)
			along, run := r.direct(x, fmt.Sprintf("_l%d%s", k, turn), d == 1), r.layer
			if r.sizes != nil {
				run = r.packedLayer
			}
			y, hn, cn := run(along, r.state(h, at), r.state(c, at))
			ys, hs, cs = append(ys, y), append(hs, hn), append(cs, cn)
			if r.Err != nil {
				return nil, nil, nil
			}
		}
		if x = ys[0]; r.turned {
			x = r.Do("cat", ys, op.Int1(-1))
		}
		if r.dropout > 0 && r.training && k < r.layers-1 {
			x = r.Do("dropout", []*tensor.Tensor{x}, op.Float1(r.dropout), op.Bool1(true))
		}
	}
	hn = r.Do("stack", hs, op.Int1(0))
	if r.cell.two {
		cn = r.Do("stack", cs, op.Int1(0))
	}
	return x, hn, cn
}

// state returns the state of one layer and direction, of all of them; nil for a
// cell that has none such.
func (r *recurrence) state(all *tensor.Tensor, at int) *tensor.Tensor {
	if all == nil {
		return nil
	}
	return r.Do("select", []*tensor.Tensor{all}, op.Int1(0), op.Int1(at))
}

// forwardRecurrent returns the forward function of recurrent modules of k.
func forwardRecurrent(k *cell) forwardFunc {
	return func(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x, hx starlark.Value = nil, starlark.None
		if err := arg.Unpack(k.name, args, kwargs, "input", &x, "hx?", &hx); err != nil {
			return nil, err
		}
		r := &recurrence{OpChain: builtins.OpChain{E: m.env, Fn: k.name}, m: m, cell: k, training: m.training}
		if err := r.read(); err != nil {
			return nil, err
		}
		if p, ok := x.(*packedSequence); ok {
			return r.runPacked(p, hx)
		}
		t, err := builtins.ToTensor(x)
		if err != nil {
			return nil, arg.In(k.name, "input", err)
		}
		input, err := r.arrange(t)
		if err != nil {
			return nil, err
		}
		h, c, err := r.begin(hx, input, input.Shape()[1])
		if err != nil {
			return nil, err
		}
		y, hn, cn := r.run(input, h, c)
		return r.result(y, hn, cn)
	}
}

// A sizeField is a field of the module that is an int.
type sizeField struct {
	name string
	into *int
}

// readSize reads a field of the module.
func (r *recurrence) readSize(f sizeField) (err error) {
	*f.into, err = arg.ToInt(r.m.Get(f.name))
	return arg.In(r.Fn+"."+f.name, "", err)
}

// read reads the fields of the module.
func (r *recurrence) read() error {
	for _, f := range []sizeField{{"input_size", &r.in}, {"hidden_size", &r.hidden}, {"num_layers", &r.layers}, {"proj_size", &r.proj}} {
		if err := r.readSize(f); err != nil {
			return err
		}
	}
	r.turned, r.first = r.m.Get("bidirectional") == starlark.True, r.m.Get("batch_first") == starlark.True
	r.relu = r.m.Get("nonlinearity") == starlark.String("relu")
	r.dropout, _ = starlark.AsFloat(r.m.Get("dropout"))
	return nil
}

// arrange returns the input as [l, n, in].
func (r *recurrence) arrange(x *tensor.Tensor) (*tensor.Tensor, error) {
	s, want := x.Shape(), "[l, n, %d]"
	if r.first {
		want = "[n, l, %d]"
	}
	if !x.DType().IsFloat() || len(s) != 2 && len(s) != 3 || s[len(s)-1] != r.in || s.Numel() > 0 && len(s) == 0 {
		return nil, &op.ArgError{Func: r.Fn, Param: "input", Got: op.Describe(x), Want: fmt.Sprintf("a float tensor "+want+", or [l, %d] without a batch", r.in, r.in), Rule: "input_size"}
	}
	r.unbatch = len(s) == 2
	switch {
	case r.unbatch:
		x = r.Do("unsqueeze", []*tensor.Tensor{x}, op.Int1(1))
	case r.first:
		x = r.Do("transpose", []*tensor.Tensor{x}, op.Int1(0), op.Int1(1))
	}
	if r.Err == nil && x.Shape()[0] == 0 {
		return nil, &op.ArgError{Func: r.Fn, Param: "input", Got: "an empty sequence", Want: "one of at least one step"}
	}
	return x, r.Err
}

// directions returns how many directions there are.
func (r *recurrence) directions() int {
	if r.turned {
		return 2
	}
	return 1
}

// out returns how many features h has.
func (r *recurrence) out() int {
	if r.proj > 0 {
		return r.proj
	}
	return r.hidden
}

// begin returns the first states of all layers for n sequences of the dtype of x: hx, or
// zeros.
func (r *recurrence) begin(hx starlark.Value, x *tensor.Tensor, n int) (h, c *tensor.Tensor, err error) {
	want := [2]shape.Shape{{r.layers * r.directions(), n, r.out()}, {r.layers * r.directions(), n, r.hidden}}
	if hx == starlark.None {
		h = r.Do("zeros", nil, op.IntsN(want[0]...), op.Int1(int(x.DType())))
		if r.cell.two {
			c = r.Do("zeros", nil, op.IntsN(want[1]...), op.Int1(int(x.DType())))
		}
		return h, c, r.Err
	}
	list := starlark.Tuple{hx}
	if r.cell.two {
		var pair arg.List
		if pair.Unpack(hx) != nil || len(pair) != 2 {
			return nil, nil, arg.In(r.Fn, "hx", arg.Bad(hx, "a pair of tensors (h, c)", ""))
		}
		list = starlark.Tuple(pair)
	}
	states := make([]*tensor.Tensor, 2)
	for i, v := range list {
		t, err := builtins.ToTensor(v)
		if err != nil {
			return nil, nil, arg.In(r.Fn, "hx", err)
		}
		given := want[i]
		if r.unbatch {
			given = shape.Shape{want[i][0], want[i][2]}
		}
		if !t.Shape().Equal(given) {
			return nil, nil, &op.ArgError{Func: r.Fn, Param: "hx", Got: op.Describe(t), Want: "shape " + given.String(), Rule: "layers and directions, batch, " + r.featuresOf(i)}
		}
		if r.unbatch {
			t = r.Do("unsqueeze", []*tensor.Tensor{t}, op.Int1(1))
		}
		states[i] = t
	}
	return states[0], states[1], r.Err
}

// featuresOf names the field that says how many features the state i has: 0 is h, 1 is c.
func (r *recurrence) featuresOf(i int) string {
	if i == 0 && r.proj > 0 {
		return "proj_size"
	}
	return "hidden_size"
}

// result returns what the module gives as its input was arranged.
func (r *recurrence) result(y, hn, cn *tensor.Tensor) (starlark.Value, error) {
	if r.unbatch {
		drop := func(x *tensor.Tensor) *tensor.Tensor {
			return r.Do("squeeze", []*tensor.Tensor{x}, op.IntsN(1))
		}
		if y, hn = drop(y), drop(hn); r.cell.two {
			cn = drop(cn)
		}
	} else if r.first {
		y = r.Do("transpose", []*tensor.Tensor{y}, op.Int1(0), op.Int1(1))
	}
	if r.Err != nil {
		return nil, r.Err
	}
	var state starlark.Value = r.E.Wrap(hn)
	if r.cell.two {
		state = starlark.Tuple{state, r.E.Wrap(cn)}
	}
	return starlark.Tuple{r.E.Wrap(y), state}, nil
}

// recurrent makes the parameters of one layer in one direction, with in inputs and proj
// features of h, or hidden if that is 0, in PyTorch's order.
func (mk *maker) recurrent(k *cell, suffix string, in, hidden, proj int, bias bool) error {
	bound, out := 0.0, hidden
	if hidden > 0 {
		bound = 1 / math.Sqrt(float64(hidden))
	}
	if proj > 0 {
		out = proj
	}
	for _, w := range []struct {
		name string
		s    []int
	}{{"weight_ih", []int{k.gates * hidden, in}}, {"weight_hh", []int{k.gates * hidden, out}}, {"bias_ih", []int{k.gates * hidden}}, {"bias_hh", []int{k.gates * hidden}}} {
		if len(w.s) == 1 && !bias {
			mk.none(w.name + suffix)
			continue
		}
		if err := mk.uniform(w.name+suffix, bound, slices.Clone(w.s)...); err != nil {
			return err
		}
	}
	if proj == 0 {
		return nil
	}
	return mk.uniform("weight_hr"+suffix, bound, proj, hidden)
}
