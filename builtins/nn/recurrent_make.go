package nn

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	for _, k := range []struct {
		*cell
		does, extra, extraDoc, state string
	}{
		{rnnCell, "of Elman: h = tanh(W x + b + W' h + b')", "nonlinearity=\"tanh\", ", "nonlinearity is \"tanh\" or \"relu\". ", "h_n"},
		{gruCell, "with gates that reset and update h", "", "", "h_n"},
		{lstmCell, "with a long short-term memory", "", "", "(h_n, c_n)"},
	} {
		last, proj, projDoc := "[-1]", "", ""
		if k.two {
			last, proj = "[0][-1]", "proj_size=0, "
			projDoc = "With proj_size, less than hidden_size, each h is projected to that many features by\n" +
				"weight_hr_l0 [proj_size, hidden_size]: output, h_n and the first h have these, c_n has hidden_size.\n"
		}
		builtins.Register(&builtins.Row{Name: "nn." + k.name, Fn: newRecurrent(k.cell),
			MakeDoc: func() string {
				return fmt.Sprintf("%s(input_size, hidden_size, num_layers=1, %sbias=True, batch_first=False, dropout=0.0, bidirectional=False, %sdtype=None, device=None) returns a recurrent network %s.\n"+
					"m(x, hx=None) returns (output, %s): what the last layer gives at each step, and the last\n"+
					"state of every layer. x is [l, n, input_size], with batch_first [n, l, input_size], or\n"+
					"[l, input_size]; hx is the first state, zeros if None, [num_layers * directions, n, hidden_size].\n"+
					"A packed x, of nn.utils.rnn.pack_padded_sequence, gives a packed output: each sequence ends\n"+
					"where it does.\n"+
					"%s%sThe parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 and so on, of the\n"+
					"second direction with _reverse behind; they are drawn uniform within 1 / √hidden_size. %s\n"+
					">>> y, state = nn.%s(3, 4, num_layers=2)(rand(5, 2, 3))\n>>> y.shape, y[-1].equal(state%s)\n((5, 2, 4), True)",
					k.name, k.extra, proj, k.does, k.state, projDoc, k.extraDoc, docDType, k.name, last)
			}})
		result := "h"
		if k.two {
			result = "(h, c)"
		}
		at := ""
		if k.two {
			at = "[0]"
		}
		builtins.Register(&builtins.Row{Name: "nn." + k.name + "Cell", Fn: newCell(k.cell),
			MakeDoc: func() string {
				return fmt.Sprintf("%sCell(input_size, hidden_size, bias=True, %sdtype=None, device=None) returns a module that makes one step of a %s: m(x, hx=None) returns the state %s after x [n, input_size].\n"+
					"The parameters are weight_ih, weight_hh, bias_ih and bias_hh. %s\n"+
					">>> nn.%sCell(3, 4)(rand(2, 3))%s.shape\n(2, 4)", k.name, k.extra, k.name, result, docDType, k.name, at)
			}})
	}
}

// A nonlinearity is an argument that is what an RNN applies.
type nonlinearity string

// Unpack implements starlark.Unpacker.
func (p *nonlinearity) Unpack(v starlark.Value) error {
	s, ok := starlark.AsString(v)
	if !ok || s != "tanh" && s != "relu" {
		return arg.Bad(v, `"tanh" or "relu"`, "")
	}
	*p = nonlinearity(s)
	return nil
}

// maxLayers is how many layers a recurrent network has at the most.
const maxLayers = 1 << 12

func newRecurrent(k *cell) builtins.Function {
	c := &class{Name: k.name, forward: forwardRecurrent(k), shows: []string{"input_size", "hidden_size", "num_layers", "batch_first", "dropout", "bidirectional"}, bare: 2}
	projected := *c
	projected.shows = append(slices.Clone(c.shows), "proj_size")
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			in, hidden   count
			proj         count
			layers       = count(1)
			bias         = arg.Bool(true)
			first, turns arg.Bool
			drop         probability
			how          = nonlinearity("tanh")
			dt           arg.OptDType
		)
		pairs := []any{"input_size", &in, "hidden_size", &hidden, "num_layers?", &layers}
		if k == rnnCell {
			pairs = append(pairs, "nonlinearity?", &how)
		}
		pairs = append(pairs, "bias?", &bias, "batch_first?", &first, "dropout?", &drop, "bidirectional?", &turns)
		if k.two {
			pairs = append(pairs, "proj_size?", &proj)
		}
		pairs = append(pairs, "dtype?", &dt, "device?", builtins.Device{})
		if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
			return nil, err
		}
		if layers < 1 || layers > maxLayers {
			return nil, &op.ArgError{Func: b.Name(), Param: "num_layers", Got: fmt.Sprint(int(layers)), Want: fmt.Sprintf("an int from 1 to %d", maxLayers)}
		}
		if proj > 0 && proj >= hidden {
			return nil, &op.ArgError{Func: b.Name(), Param: "proj_size", Got: fmt.Sprint(int(proj)), Want: "an int less than " + fmt.Sprint(int(hidden)), Rule: "hidden_size"}
		}
		m := newModule(e, c)
		if proj > 0 {
			m.Class = &projected
		}
		m.plain("input_size", starlark.MakeInt(int(in)), "hidden_size", starlark.MakeInt(int(hidden)), "proj_size", starlark.MakeInt(int(proj)), "num_layers", starlark.MakeInt(int(layers)),
			"batch_first", starlark.Bool(first), "dropout", starlark.Float(drop), "bidirectional", starlark.Bool(turns), "nonlinearity", starlark.String(how))
		mk, err := newMaker(e, b.Name(), m, dt)
		if err != nil {
			return nil, err
		}
		suffixes := []string{""}
		if turns {
			suffixes = append(suffixes, "_reverse")
		}
		from := int(in)
		for l := range int(layers) {
			for _, s := range suffixes {
				if err := mk.recurrent(k, fmt.Sprintf("_l%d%s", l, s), from, int(hidden), int(proj), bool(bias)); err != nil {
					return nil, err
				}
			}
			if from = len(suffixes) * int(hidden); proj > 0 {
				from = len(suffixes) * int(proj)
			}
		}
		return m, nil
	}
}

func newCell(k *cell) builtins.Function {
	c := &class{Name: k.name + "Cell", forward: forwardCell(k), shows: []string{"input_size", "hidden_size"}, bare: 2}
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			in, hidden count
			bias       = arg.Bool(true)
			how        = nonlinearity("tanh")
			dt         arg.OptDType
		)
		pairs := []any{"input_size", &in, "hidden_size", &hidden, "bias?", &bias}
		if k == rnnCell {
			pairs = append(pairs, "nonlinearity?", &how)
		}
		if err := arg.Unpack(b.Name(), args, kwargs, append(pairs, "dtype?", &dt, "device?", builtins.Device{})...); err != nil {
			return nil, err
		}
		m := newModule(e, c)
		m.plain("input_size", starlark.MakeInt(int(in)), "hidden_size", starlark.MakeInt(int(hidden)), "nonlinearity", starlark.String(how))
		mk, err := newMaker(e, b.Name(), m, dt)
		if err != nil {
			return nil, err
		}
		return m, mk.recurrent(k, "", int(in), int(hidden), 0, bool(bias))
	}
}

// forwardCell returns the forward function of cells of k.
func forwardCell(k *cell) forwardFunc {
	return func(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			x  builtins.OneTensor
			hx starlark.Value = starlark.None
		)
		if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x, "hx?", &hx); err != nil {
			return nil, err
		}
		own := *k // of its own name, for errors
		own.name = m.Class.Name
		r := &recurrence{OpChain: builtins.OpChain{E: m.env, Fn: own.name}, m: m, cell: &own, layers: 1}
		for _, f := range []sizeField{{"input_size", &r.in}, {"hidden_size", &r.hidden}} {
			if err := r.readSize(f); err != nil {
				return nil, err
			}
		}
		r.relu = m.Get("nonlinearity") == starlark.String("relu")
		return r.cellStep(x.T, hx)
	}
}

// cellStep makes the one step of a cell on x, [n, in] or [in].
func (r *recurrence) cellStep(x *tensor.Tensor, hx starlark.Value) (starlark.Value, error) {
	s := x.Shape()
	if !x.DType().IsFloat() || len(s) != 1 && len(s) != 2 || s[len(s)-1] != r.in {
		return nil, &op.ArgError{Func: r.Fn, Param: "input", Got: op.Describe(x), Want: fmt.Sprintf("a float tensor [n, %d] or [%d]", r.in, r.in), Rule: "input_size"}
	}
	alone := len(s) == 1
	r.unbatch = alone
	row := x
	if alone {
		row = r.Do("unsqueeze", []*tensor.Tensor{row}, op.Int1(0))
	}
	hx, err := r.layered(hx)
	if err != nil {
		return nil, err
	}
	steps := r.Do("unsqueeze", []*tensor.Tensor{row}, op.Int1(0))
	if r.Err != nil {
		return nil, r.Err
	}
	h, c, err := r.begin(hx, steps, steps.Shape()[1])
	if err != nil {
		return nil, err
	}
	_, h, c = r.layer(r.direct(steps, "", false), r.state(h, 0), r.state(c, 0))
	if alone {
		drop := func(x *tensor.Tensor) *tensor.Tensor {
			return r.Do("squeeze", []*tensor.Tensor{x}, op.IntsN(0))
		}
		if h = drop(h); r.cell.two {
			c = drop(c)
		}
	}
	if r.Err != nil {
		return nil, r.Err
	}
	if r.cell.two {
		return starlark.Tuple{r.E.Wrap(h), r.E.Wrap(c)}, nil
	}
	return r.E.Wrap(h), nil
}

// layered returns the state of a cell as that of a network of one layer.
func (r *recurrence) layered(hx starlark.Value) (starlark.Value, error) {
	if hx == starlark.None {
		return hx, nil
	}
	list, several := hx.(starlark.Tuple)
	if !several {
		list = starlark.Tuple{hx}
	}
	out := make(starlark.Tuple, len(list))
	for i, v := range list {
		t, err := builtins.ToTensor(v)
		if err != nil {
			return nil, arg.In(r.Fn, "hx", err)
		}
		out[i] = r.E.Wrap(r.Do("unsqueeze", []*tensor.Tensor{t}, op.Int1(0)))
	}
	if !several {
		return out[0], r.Err
	}
	return out, r.Err
}
