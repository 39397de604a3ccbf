package nn

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// PyTorch's nn.utils: parameters as one vector, and sequences of several lengths as
// one tensor.

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.utils", Namespace: true,
		Doc: "nn.utils is the module of functions of parameters and their gradients: clipping, and one vector of all.",
	}, &builtins.Row{
		Name: "nn.utils.rnn", Namespace: true,
		Doc: "nn.utils.rnn is the module of functions of sequences of several lengths.",
	}, &builtins.Row{
		Name: "nn.utils.parameters_to_vector",
		Doc: "parameters_to_vector(parameters) returns the elements of parameters, a list of tensors, one after another as a tensor [n]. It is differentiable.\n" +
			"Of parameters that fully_shard has cut it is their values, as state_dict has them.\n" +
			">>> nn.utils.parameters_to_vector([tensor([[1.0, 2.0]]), tensor(3.0)])\n[1. 2. 3.]",
		Fn: parametersToVector,
	}, &builtins.Row{
		Name: "nn.utils.vector_to_parameters",
		Doc: "vector_to_parameters(vec, parameters) returns None and stores in parameters what parameters_to_vector made a vector of, unrecorded.\n" +
			"vec [n] has as many elements as they have together. They are copied: a change to vec\n" +
			"changes no parameter.\n" +
			">>> m = nn.Linear(2, 1)\n" +
			">>> nn.utils.vector_to_parameters(tensor([1.0, 2.0, 3.0]), m.parameters())\n" +
			">>> m.bias.tolist()\n[3.0]",
		Fn: vectorToParameters,
	}, &builtins.Row{
		Name: "nn.utils.rnn.pad_sequence",
		Doc: "pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side=\"right\") returns a list of tensors [l, ...] as one tensor [most, n, ...], with batch_first [n, most, ...], each made as long as the longest.\n" +
			"Its end is filled with padding_value, or with padding_side=\"left\" its beginning.\n" +
			">>> nn.utils.rnn.pad_sequence([tensor([1, 2, 3]), tensor([4])], batch_first=True)\n[[1 2 3]\n [4 0 0]]",
		Fn: padSequence,
	}, &builtins.Row{
		Name: "nn.utils.rnn.unpad_sequence",
		Doc: "unpad_sequence(padded_sequences, lengths, batch_first=False) returns the list of sequences that pad_sequence made a tensor of: views of it, as long as lengths, a list or a tensor of ints, says.\n" +
			">>> nn.utils.rnn.unpad_sequence(tensor([[1, 2, 3], [4, 0, 0]]), [3, 1], batch_first=True)\n[[1 2 3], [4]]",
		Fn: unpadSequence,
	})
}

func parametersToVector(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var params builtins.TensorValues
	if err := arg.Unpack(b.Name(), args, kwargs, "parameters", &params); err != nil {
		return nil, err
	}
	if len(params) == 0 {
		return nil, &op.ArgError{Func: b.Name(), Param: "parameters", Got: "[]", Want: "at least one tensor"}
	}
	c := &builtins.OpChain{E: e, Fn: b.Name()}
	rows := make([]*tensor.Tensor, len(params))
	for i, x := range params {
		t, err := x.Tensor()
		if _, stored := x.Lens.(Store); stored {
			t, err = storeOf(x).State(x)
		}
		if err != nil {
			return nil, err
		}
		rows[i] = c.Do("reshape", []*tensor.Tensor{t}, op.IntsN(-1))
	}
	vec := c.Do("cat", rows, op.Int1(0))
	if c.Err != nil {
		return nil, c.Err
	}
	return e.Wrap(vec), nil
}

func vectorToParameters(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		vec    builtins.OneTensor
		params builtins.TensorValues
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "vec", &vec, "parameters", &params); err != nil {
		return nil, err
	}
	total := 0
	for _, x := range params {
		t, of, err := storeOf(x).Stored(x)
		if err == nil {
			err = builtins.CheckFrozen(b.Name(), t)
		}
		if err != nil {
			return nil, err
		}
		total += of.Numel()
	}
	if vec.T.Ndim() != 1 || vec.T.Numel() != total {
		return nil, &op.ArgError{Func: b.Name(), Param: "vec", Got: op.Describe(vec.T), Want: fmt.Sprintf("a tensor [%d]", total), Rule: "as many elements as the parameters have"}
	}
	defer e.Runtime.Tape.SetEnabled(false)()
	c, at := &builtins.OpChain{E: e, Fn: b.Name()}, 0
	for _, x := range params {
		_, of, err := storeOf(x).Stored(x)
		if err != nil {
			return nil, err
		}
		y := c.Do("reshape", []*tensor.Tensor{c.Do("narrow", []*tensor.Tensor{vec.T}, op.Int1(0), op.Int1(at), op.Int1(of.Numel()))}, op.IntsN(of...))
		if c.Err != nil {
			return nil, c.Err
		}
		if err := storeOf(x).Load(b.Name(), x, x, e.Wrap(y)); err != nil {
			return nil, arg.Rename(b.Name(), err)
		}
		at += of.Numel()
	}
	return starlark.None, nil
}

// batchDims returns the dims of a padded tensor along which its sequences and their
// elements lie.
func batchDims(first arg.Bool) (batch, time int) {
	if first {
		return 0, 1
	}
	return 1, 0
}

func padSequence(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		list  builtins.TensorValues
		first arg.Bool
		value arg.Float
		side  = arg.String("right")
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "sequences", &list, "batch_first?", &first, "padding_value?", &value, "padding_side?", &side); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &op.ArgError{Func: b.Name(), Param: "sequences", Got: "[]", Want: "at least one tensor"}
	}
	if side != "right" && side != "left" {
		return nil, &op.ArgError{Func: b.Name(), Param: "padding_side", Got: arg.Show(starlark.String(side)), Want: `"right" or "left"`}
	}
	rows, most := make([]*tensor.Tensor, len(list)), 0
	for i, x := range list {
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		if t.Ndim() == 0 {
			return nil, &op.ArgError{Func: b.Name(), Param: "sequences", Got: op.Describe(t) + fmt.Sprintf(" at index %d", i), Want: "a tensor of at least one dim"}
		}
		rows[i], most = t, max(most, t.Shape()[0])
	}
	c := &builtins.OpChain{E: e, Fn: b.Name()}
	for i, t := range rows {
		around := make([]int, 2*t.Ndim())
		around[len(around)-1] = most - t.Shape()[0]
		if side == "left" {
			around[len(around)-2], around[len(around)-1] = around[len(around)-1], 0
		}
		rows[i] = c.Do("pad", []*tensor.Tensor{t}, op.IntsN(around...), op.Str1("constant"), op.Float1(float64(value)))
	}
	batch, _ := batchDims(first)
	padded := c.Do("stack", rows, op.Int1(batch))
	if c.Err != nil {
		return nil, c.Err
	}
	return e.Wrap(padded), nil
}

// lengthsOf returns v, a list of ints or a tensor of them.
func lengthsOf(e *builtins.Env, fn string, v starlark.Value) ([]int, error) {
	if x, ok := v.(*builtins.Tensor); ok {
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		if v, err = builtins.Nested(e, fn, t); err != nil {
			return nil, err
		}
	}
	return arg.ToInts(v)
}

func unpadSequence(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		padded  builtins.OneTensor
		lengths starlark.Value
		first   arg.Bool
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "padded_sequences", &padded, "lengths", &lengths, "batch_first?", &first); err != nil {
		return nil, err
	}
	batch, time := batchDims(first)
	s := padded.T.Shape()
	if len(s) < 2 {
		return nil, &op.ArgError{Func: b.Name(), Param: "padded_sequences", Got: op.Describe(padded.T), Want: "a tensor of at least two dims"}
	}
	ints, err := lengthsOf(e, b.Name(), lengths)
	if err != nil {
		return nil, arg.In(b.Name(), "lengths", err)
	}
	if len(ints) != s[batch] {
		return nil, &op.ArgError{Func: b.Name(), Param: "lengths", Got: arg.Show(lengths), Want: units.Count(s[batch], "int"), Rule: "one for each sequence"}
	}
	c := &builtins.OpChain{E: e, Fn: b.Name()}
	rows := make([]starlark.Value, len(ints))
	for i, n := range ints {
		if n < 0 || n > s[time] {
			return nil, &op.ArgError{Func: b.Name(), Param: "lengths", Got: fmt.Sprintf("%d at index %d", n, i), Want: fmt.Sprintf("0..%d", s[time])}
		}
		row := c.Do("select", []*tensor.Tensor{padded.T}, op.Int1(batch), op.Int1(i))
		row = c.Do("narrow", []*tensor.Tensor{row}, op.Int1(0), op.Int1(0), op.Int1(n))
		if c.Err != nil {
			return nil, c.Err
		}
		rows[i] = e.Wrap(row)
	}
	return starlark.NewList(rows), nil
}
