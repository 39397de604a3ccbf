package colossal

import (
	"slices"

	"tpsh/builtins"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// An opCall is one application of an operator to ColoTensors. Its rule says
// which layouts it takes and gives; where it has none, the operator runs on the
// inputs as they lie, or at the least cost.
type opCall struct {
	env  *builtins.Env
	def  *op.Def
	in   []*tensor.Tensor // on one mesh, once they have met
	args []op.Arg

	converts bool         // tensors of other groups join that of the weight
	view     *specView    // of the group
	compute  *ComputeSpec // of the result
}

// An opRule carries out an operator on ColoTensors.
type opRule struct {
	// weight is the place of the input whose group the others join, and whose
	// compute spec counts; -1 for none.
	weight int
	run    func(c *opCall) ([]*tensor.Tensor, error)
}

// opRules holds the rules by operator.
var opRules = map[string]opRule{
	"linear":        {1, (*opCall).linear},
	"addmm":         {2, (*opCall).addmm},
	"embedding":     {1, (*opCall).embedding},
	"embedding_bag": {1, (*opCall).embedding},
	"layer_norm":    {-1, (*opCall).normalize},
	"batch_norm":    {-1, (*opCall).normalize},
	"cross_entropy": {-1, (*opCall).crossEntropy},
	"reshape":       {-1, (*opCall).reshape},
}

// Apply applies an operator for a script by the rules of ColoTensors. Hooks on
// ColoParameters see it.
func (*specView) Apply(e *builtins.Env, d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	if len(builtins.StateOf[rankState](e).hooks) > 0 {
		if params := modelData(e, in); len(params) > 0 {
			return hooked(e, params, d, in, args)
		}
	}
	return invokeColo(e, d, in, args)
}

// invokeColo applies an operator to in, of which one is a ColoTensor. The results
// are ColoTensors.
func invokeColo(e *builtins.Env, d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	c := &opCall{env: e, def: d, in: slices.Clone(in), args: args}
	rule, ok := opRules[d.Name]
	if !ok {
		rule = opRule{-1, (*opCall).plain}
	}
	if err := meet(e, c, c.leader(rule.weight)); err != nil {
		return nil, err
	}
	if ok {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	out, err := rule.run(c)
	if err != nil || d.InPlace {
		return out, err
	}
	return c.results(out)
}

// leader returns the place of the input whose group the operator runs in: what
// it writes into, its weight if that has a group of its own, or else the first
// that has one.
func (c *opCall) leader(weight int) int {
	if c.def.InPlace && isColo(c.in[0]) {
		return 0
	}
	if weight >= 0 && isColo(c.in[weight]) && !viewOf(c.in[weight]).free {
		c.converts = true
		return weight
	}
	lead := -1
	for i, x := range c.in {
		if v := viewOf(x); v != nil && (lead < 0 || viewOf(c.in[lead]).free && !v.free) {
			lead = i
		}
	}
	return lead
}

// check returns the operator's own error about shapes and dtypes, before
// anything is moved.
func (c *opCall) check() error {
	stand := make([]*tensor.Tensor, len(c.in))
	for i, x := range c.in {
		stand[i] = x
		if x != nil && x.Placed() {
			stand[i] = tensor.ShapeOnly(x.DType(), x.Shape())
		}
	}
	return c.def.Infer(&op.Call{Def: c.def, Ctx: c.env.Runtime.Ops(), In: stand, Args: c.args})
}

// results returns out as ColoTensors that lie as a spec can say.
func (c *opCall) results(out []*tensor.Tensor) ([]*tensor.Tensor, error) {
	list := make([]*tensor.Tensor, len(out))
	for i, y := range out {
		at := y.Layout()
		y, err := settled(c.env, y)
		if err != nil {
			return nil, err
		}
		y.Copied = y.Copied || c.def.View && y.Layout() != at
		if y.Placed() && !isColo(y) {
			v := c.view.of()
			v.compute = c.compute
			y.Lens = v
		}
		list[i] = y
	}
	return list, nil
}

// Meet carries out d, which run does on distributed tensors, on ColoTensors, and so
// is the result.
func (*specView) Meet(e *builtins.Env, d *op.Def, in []*tensor.Tensor, run func(in []*tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	c := &opCall{env: e, def: d, in: in}
	if err := meet(e, c, c.leader(-1)); err != nil {
		return nil, err
	}
	y, err := run(c.in)
	if err != nil {
		return nil, err
	}
	out, err := c.results([]*tensor.Tensor{y})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// plain applies the operator to the inputs as they are.
func (c *opCall) plain() ([]*tensor.Tensor, error) { return c.env.Runtime.Apply(c.def, c.in, c.args) }

// bad returns an error about in[i].
func (c *opCall) bad(i int, got, want, rule string) error {
	call := &op.Call{Def: c.def}
	return &op.ArgError{Func: c.def.Name, Param: call.InName(i), Got: got, Want: want, Rule: rule}
}

// replicate makes in[i] whole on every rank, if it is a distributed tensor.
func (c *opCall) replicate(i int) error {
	if x := c.in[i]; x != nil && x.Placed() {
		y, err := replicated(c.env, x)
		c.in[i] = y
		return err
	}
	return nil
}
