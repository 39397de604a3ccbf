package nn

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A packedSequence is sequences of several lengths without padding, the longest first: the
// first elements of all, then the second ones of those that have one, and so on. For example
// [1, 2, 3] and [4] are packed as 1, 4, 2, 3 with the sizes 2, 1, 1.
type packedSequence struct {
	e     *builtins.Env
	data  *tensor.Tensor // [steps, ...]
	sizes []int          // how many sequences have each element; they do not grow
	order []int          // which sequence of the batch each is, nil if they are in its order
	tuple starlark.Tuple // what scripts read: data, batch_sizes, sorted_indices, unsorted_indices
}

var (
	_ starlark.HasAttrs  = (*packedSequence)(nil)
	_ starlark.Indexable = (*packedSequence)(nil)
	_ starlark.Sequence  = (*packedSequence)(nil)
)

func (p *packedSequence) Type() string          { return "PackedSequence" }
func (p *packedSequence) Truth() starlark.Bool  { return true }
func (p *packedSequence) Hash() (uint32, error) { return 0, builtins.Unhashable(p) }
func (p *packedSequence) AttrNames() []string   { return builtins.AttrNames("PackedSequence") }
func (p *packedSequence) Freeze()               { p.tuple.Freeze() }
func (p *packedSequence) Attr(name string) (starlark.Value, error) {
	return p.e.Attr("PackedSequence", p, name)
}

// String shows the fields, as a tuple with names does.
func (p *packedSequence) String() string {
	parts := p.tuple
	return fmt.Sprintf("PackedSequence(data=%v, batch_sizes=%v, sorted_indices=%v, unsorted_indices=%v)", parts[0], parts[1], parts[2], parts[3])
}

// packedOf returns sequences whose elements are data.
func packedOf(c *builtins.OpChain, data *tensor.Tensor, sizes, order []int) (starlark.Value, error) {
	p := &packedSequence{e: c.E, data: data, sizes: sizes, order: order}
	counts, unsorted := intTensor(c, sizes), (*tensor.Tensor)(nil)
	sorted := unsorted
	if order != nil {
		sorted, unsorted = intTensor(c, order), intTensor(c, inverse(order))
	}
	if c.Err != nil {
		return nil, c.Err
	}
	p.tuple = starlark.Tuple{c.E.Wrap(data), c.E.Wrap(counts), starlark.None, starlark.None}
	if order != nil {
		p.tuple[2], p.tuple[3] = c.E.Wrap(sorted), c.E.Wrap(unsorted)
	}
	return p, nil
}

// Len implements starlark.Sequence: of a tuple of four.
func (p *packedSequence) Len() int { return 4 }

// Index implements starlark.Indexable.
func (p *packedSequence) Index(i int) starlark.Value { return p.tuple[i] }

// Iterate implements starlark.Sequence.
func (p *packedSequence) Iterate() starlark.Iterator { return p.tuple.Iterate() }

// intTensor returns a tensor of ints.
func intTensor(c *builtins.OpChain, list []int) *tensor.Tensor {
	elems := make([]int64, len(list))
	for i, v := range list {
		elems[i] = int64(v)
	}
	t, err := op.FromInts(c.E.Runtime.Ops(), dtype.Int64, shape.Shape{len(list)}, elems)
	c.Fail(err)
	return t
}

// inverse returns the permutation that undoes order.
func inverse(order []int) []int {
	back := make([]int, len(order))
	for i, at := range order {
		back[at] = i
	}
	return back
}

func init() {
	made := "nn.utils.rnn.pack_padded_sequence(tensor([[1, 4], [2, 0], [3, 0]]), [3, 1])"
	builtins.Register(&builtins.Row{
		Name: "nn.utils.rnn.pack_padded_sequence",
		Doc: "pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True) returns a PackedSequence of sequences that are padded: input [l, n, ...], with batch_first [n, l, ...], and lengths, a list or a tensor of n ints.\n" +
			"RNN, GRU and LSTM take it and give one: nothing is computed of the padding, and the last\n" +
			"state of each sequence is that of its own end. Its data have the first elements of all\n" +
			"sequences, then the second ones of those that have one, and so on. With enforce_sorted\n" +
			"lengths do not grow; without it the longest come first in what is packed, and all that\n" +
			"is made of it has the batch's order again.\n" +
			">>> p = " + made + "\n>>> p.data, p.batch_sizes\n([1 4 2 3], [2 1 1])",
		Fn: packPadded,
	}, &builtins.Row{
		Name: "nn.utils.rnn.pad_packed_sequence",
		Doc: "pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None) returns (padded, lengths) of a PackedSequence: what pack_padded_sequence was given, as long as the longest or total_length.\n" +
			">>> nn.utils.rnn.pad_packed_sequence(" + made + ", batch_first=True)\n([[1 2 3]\n [4 0 0]], [3 1])",
		Fn: padPacked,
	}, &builtins.Row{
		Name: "nn.utils.rnn.pack_sequence",
		Doc: "pack_sequence(sequences, enforce_sorted=True) returns a PackedSequence of a list of tensors [l, ...]; see pack_padded_sequence.\n" +
			">>> nn.utils.rnn.pack_sequence([tensor([1, 2, 3]), tensor([4])]).data\n[1 4 2 3]",
		Fn: packSequence,
	}, &builtins.Row{
		Name: "nn.utils.rnn.unpack_sequence",
		Doc: "unpack_sequence(packed_sequences) returns the list of sequences that pack_sequence was given.\n" +
			">>> nn.utils.rnn.unpack_sequence(" + made + ")\n[[1 2 3], [4]]",
		Fn: unpackSequence,
	}, &builtins.Row{
		Name: "nn.utils.rnn.PackedSequence",
		Doc: "PackedSequence(data, batch_sizes, sorted_indices=None, unsorted_indices=None) returns a PackedSequence of other data [steps, ...] with the sizes and the order of one that is there.\n" +
			"unsorted_indices is what undoes sorted_indices, and follows from it.\n" +
			">>> p = " + made + "\n>>> twice = nn.utils.rnn.PackedSequence(p.data * 2, p.batch_sizes)\n>>> twice.data\n[2 8 4 6]",
		Fn: newPacked,
	},
		&builtins.Row{Name: "PackedSequence", Doc: "PackedSequence is the type of what nn.utils.rnn.pack_padded_sequence returns: sequences of several lengths without padding. As a tuple it is (data, batch_sizes, sorted_indices, unsorted_indices)."},
		packedField(0, "data", "data is the tensor [steps, ...] of all elements: the first ones of all sequences, then the second ones.\n>>> "+made+".data\n[1 4 2 3]"),
		packedField(1, "batch_sizes", "batch_sizes is a tensor of ints: how many sequences have a first element, a second one, and so on.\n>>> "+made+".batch_sizes\n[2 1 1]"),
		packedField(2, "sorted_indices", "sorted_indices is which of the batch each packed sequence is, or None where they are in the batch's order.\n>>> nn.utils.rnn.pack_sequence([tensor([4]), tensor([1, 2])], enforce_sorted=False).sorted_indices\n[1 0]"),
		packedField(3, "unsorted_indices", "unsorted_indices is where each of the batch is among the packed sequences, or None where they are in the batch's order.\n>>> nn.utils.rnn.pack_sequence([tensor([4]), tensor([1, 2])], enforce_sorted=False).unsorted_indices\n[1 0]"),
		&builtins.Row{Name: "PackedSequence.to", Fn: packedTo, Doc: "to(dtype) returns a PackedSequence of the data in another dtype.\n>>> " + made + ".to(float64).data.dtype\nfloat64"})
}

func packedField(i int, name, doc string) *builtins.Row {
	return &builtins.Row{Name: "PackedSequence." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return x.(*packedSequence).tuple[i], nil
	}}
}

func packedTo(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var dt arg.DType
	if err := arg.Unpack(b.Name(), args, kwargs, "dtype", &dt); err != nil {
		return nil, err
	}
	p, c := b.Receiver().(*packedSequence), &builtins.OpChain{E: e, Fn: b.Name()}
	y := c.Do("to", []*tensor.Tensor{p.data}, op.Int1(int(dt.D)))
	return packedOf(c, y, p.sizes, p.order)
}

// A packedArg is an argument that is a PackedSequence.
type packedArg struct{ *packedSequence }

// Unpack implements starlark.Unpacker.
func (p *packedArg) Unpack(v starlark.Value) error {
	s, ok := v.(*packedSequence)
	if !ok {
		return arg.Bad(v, "a PackedSequence", "nn.utils.rnn.pack_padded_sequence makes one")
	}
	p.packedSequence = s
	return nil
}

func packPadded(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		input   builtins.OneTensor
		lengths starlark.Value
		first   arg.Bool
		sorted  = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "input", &input, "lengths", &lengths, "batch_first?", &first, "enforce_sorted?", &sorted); err != nil {
		return nil, err
	}
	s := input.T.Shape()
	if len(s) < 2 {
		return nil, &op.ArgError{Func: b.Name(), Param: "input", Got: op.Describe(input.T), Want: "a tensor of at least two dims"}
	}
	batch, time := batchDims(first)
	ints, err := lengthsOf(e, b.Name(), lengths)
	if err != nil {
		return nil, arg.In(b.Name(), "lengths", err)
	}
	if len(ints) != s[batch] || len(ints) == 0 {
		return nil, &op.ArgError{Func: b.Name(), Param: "lengths", Got: arg.Show(lengths), Want: units.Count(max(s[batch], 1), "int"), Rule: "one for each sequence, of which there is at least one"}
	}
	c, x := &builtins.OpChain{E: e, Fn: b.Name()}, input.T
	if first {
		x = c.Do("transpose", []*tensor.Tensor{x}, op.Int1(0), op.Int1(1))
	}
	return pack(c, x, ints, s[time], bool(sorted))
}

// pack packs x [most, n, ...], sequences of so many elements each.
func pack(c *builtins.OpChain, x *tensor.Tensor, lengths []int, most int, sorted bool) (starlark.Value, error) {
	for i, n := range lengths {
		switch {
		case n < 1 || n > most:
			return nil, &op.ArgError{Func: c.Fn, Param: "lengths", Got: fmt.Sprintf("%d at index %d", n, i), Want: fmt.Sprintf("1..%d", most)}
		case sorted && i > 0 && n > lengths[i-1]:
			return nil, &op.ArgError{Func: c.Fn, Param: "lengths", Got: fmt.Sprintf("%d after %d", n, lengths[i-1]), Want: "lengths that do not grow", Rule: "enforce_sorted=False takes others"}
		}
	}
	p := &packedSequence{e: c.E}
	if !sorted {
		p.order = make([]int, len(lengths))
		for i := range p.order {
			p.order[i] = i
		}
		slices.SortStableFunc(p.order, func(a, b int) int { return lengths[b] - lengths[a] })
		x = c.Do("index_select", []*tensor.Tensor{x, intTensor(c, p.order)}, op.Int1(1))
	}
	p.sizes = make([]int, slices.Max(lengths))
	for _, n := range lengths {
		for t := range n {
			p.sizes[t]++
		}
	}
	var parts []*tensor.Tensor
	for _, r := range runsOf(p.sizes) {
		part := c.Do("narrow", []*tensor.Tensor{x}, op.Int1(0), op.Int1(r.at), op.Int1(r.steps))
		part = c.Do("narrow", []*tensor.Tensor{part}, op.Int1(1), op.Int1(0), op.Int1(r.size))
		parts = append(parts, c.Do("flatten", []*tensor.Tensor{part}, op.Int1(0), op.Int1(1)))
	}
	return packedOf(c, c.Do("cat", parts, op.Int1(0)), p.sizes, p.order)
}

// A sizeRun is steps, one after another from the step at, that size sequences have.
type sizeRun struct{ at, steps, size int }

// runsOf returns the runs of steps of one size.
func runsOf(sizes []int) []sizeRun {
	var runs []sizeRun
	for t, n := range sizes {
		if last := len(runs) - 1; last >= 0 && runs[last].size == n {
			runs[last].steps++
		} else {
			runs = append(runs, sizeRun{t, 1, n})
		}
	}
	return runs
}

// lengths returns how long the sequences are, in the batch's order.
func (p *packedSequence) lengths() []int {
	list := make([]int, p.sizes[0])
	for _, n := range p.sizes {
		for i := range n {
			list[i]++
		}
	}
	if p.order == nil {
		return list
	}
	batch := make([]int, len(list))
	for i, at := range p.order {
		batch[at] = list[i]
	}
	return batch
}

// padded returns the sequences as a tensor [most, n, ...] in the batch's order.
func (p *packedSequence) padded(c *builtins.OpChain, most int, value float64) *tensor.Tensor {
	var parts []*tensor.Tensor
	row, n, rest := 0, p.sizes[0], p.data.Shape()[1:]
	fill := func(x *tensor.Tensor, dim, more int) *tensor.Tensor {
		if more == 0 || c.Err != nil {
			return x
		}
		around := make([]int, 2*(x.Ndim()-dim))
		around[len(around)-1] = more
		return c.Do("pad", []*tensor.Tensor{x}, op.IntsN(around...), op.Str1("constant"), op.Float1(value))
	}
	for _, r := range runsOf(p.sizes) {
		part := c.Do("narrow", []*tensor.Tensor{p.data}, op.Int1(0), op.Int1(row), op.Int1(r.steps*r.size))
		part = c.Do("reshape", []*tensor.Tensor{part}, op.IntsN(append([]int{r.steps, r.size}, rest...)...))
		parts = append(parts, fill(part, 1, n-r.size))
		row += r.steps * r.size
	}
	x := fill(c.Do("cat", parts, op.Int1(0)), 0, most-len(p.sizes))
	if p.order == nil {
		return x
	}
	return c.Do("index_select", []*tensor.Tensor{x, intTensor(c, inverse(p.order))}, op.Int1(1))
}

func padPacked(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		p     packedArg
		first arg.Bool
		value arg.Float
		total arg.OptInt
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "sequence", &p, "batch_first?", &first, "padding_value?", &value, "total_length?", &total); err != nil {
		return nil, err
	}
	most := len(p.sizes)
	if total.Set {
		if most = int(total.V); most < len(p.sizes) {
			return nil, &op.ArgError{Func: b.Name(), Param: "total_length", Got: fmt.Sprint(most), Want: fmt.Sprintf("an int of at least %d", len(p.sizes)), Rule: "the longest sequence"}
		}
	}
	c := &builtins.OpChain{E: e, Fn: b.Name()}
	x := p.padded(c, most, float64(value))
	if first {
		x = c.Do("transpose", []*tensor.Tensor{x}, op.Int1(0), op.Int1(1))
	}
	lengths := intTensor(c, p.lengths())
	if c.Err != nil {
		return nil, c.Err
	}
	return starlark.Tuple{e.Wrap(x), e.Wrap(lengths)}, nil
}

func packSequence(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		list   starlark.Value
		sorted = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "sequences", &list, "enforce_sorted?", &sorted); err != nil {
		return nil, err
	}
	v, err := padSequence(e, thread, b, starlark.Tuple{list}, nil)
	if err != nil {
		return nil, err
	}
	var rows builtins.TensorValues
	if err := arg.Set(b.Name(), "sequences", &rows, list); err != nil {
		return nil, err
	}
	lengths := make([]int, len(rows))
	for i, x := range rows {
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		lengths[i] = t.Shape()[0]
	}
	x, err := builtins.ToTensor(v)
	if err != nil {
		return nil, err
	}
	return pack(&builtins.OpChain{E: e, Fn: b.Name()}, x, lengths, x.Shape()[0], bool(sorted))
}

func unpackSequence(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var p packedArg
	if err := arg.Unpack(b.Name(), args, kwargs, "packed_sequences", &p); err != nil {
		return nil, err
	}
	c := &builtins.OpChain{E: e, Fn: b.Name()}
	x := p.padded(c, len(p.sizes), 0)
	lengths := p.lengths()
	rows := make([]starlark.Value, len(lengths))
	for i, n := range lengths {
		row := c.Do("select", []*tensor.Tensor{x}, op.Int1(1), op.Int1(i))
		row = c.Do("narrow", []*tensor.Tensor{row}, op.Int1(0), op.Int1(0), op.Int1(n))
		if c.Err != nil {
			return nil, c.Err
		}
		rows[i] = e.Wrap(row)
	}
	return starlark.NewList(rows), nil
}

func newPacked(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data        builtins.OneTensor
		given       starlark.Value
		order, back starlark.Value = starlark.None, starlark.None
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "data", &data, "batch_sizes", &given, "sorted_indices?", &order, "unsorted_indices?", &back); err != nil {
		return nil, err
	}
	p := &packedSequence{e: e, data: data.T}
	var err error
	if p.sizes, err = lengthsOf(e, b.Name(), given); err != nil {
		return nil, arg.In(b.Name(), "batch_sizes", err)
	}
	total := 0
	for i, n := range p.sizes {
		if total += n; n < 1 || i > 0 && n > p.sizes[i-1] {
			return nil, &op.ArgError{Func: b.Name(), Param: "batch_sizes", Got: arg.Show(given), Want: "ints of at least 1 that do not grow"}
		}
	}
	if data.T.Ndim() == 0 || total == 0 || data.T.Shape()[0] != total {
		return nil, &op.ArgError{Func: b.Name(), Param: "data", Got: op.Describe(data.T), Want: fmt.Sprintf("a tensor [%d, ...]", max(total, 1)), Rule: "the sum of batch_sizes"}
	}
	if p.order, err = p.permutation(b.Name(), "sorted_indices", order); err != nil {
		return nil, err
	}
	undo, err := p.permutation(b.Name(), "unsorted_indices", back)
	switch {
	case err != nil:
		return nil, err
	case p.order == nil && undo != nil:
		p.order = inverse(undo)
	case undo != nil && !slices.Equal(inverse(p.order), undo):
		return nil, &op.ArgError{Func: b.Name(), Param: "unsorted_indices", Got: arg.Show(back), Want: fmt.Sprint(inverse(p.order)), Rule: "it undoes sorted_indices"}
	}
	return packedOf(&builtins.OpChain{E: e, Fn: b.Name()}, p.data, p.sizes, p.order)
}

// permutation returns v, None or the places of the sequences in another order.
func (p *packedSequence) permutation(fn, param string, v starlark.Value) ([]int, error) {
	if v == starlark.None {
		return nil, nil
	}
	list, err := lengthsOf(p.e, fn, v)
	if err != nil {
		return nil, arg.In(fn, param, err)
	}
	all := slices.Sorted(slices.Values(list))
	for i, at := range all {
		if i != at {
			all = nil
			break
		}
	}
	if len(all) != p.sizes[0] {
		return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: fmt.Sprintf("the ints 0..%d, each once", p.sizes[0]-1), Rule: "batch_sizes[0] sequences"}
	}
	return list, nil
}
