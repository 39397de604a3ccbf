package runtime

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"

	"tpsh/comm"
	"tpsh/runtime/kernel"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A Collective says which collective is called, and how. Dims count from the
// front; Root is a group rank. Fields that the operation does not have are
// zero.
type Collective struct {
	Op     string   // "all_reduce", ...: a key of collectives
	Dim    int      // the dim that is cut or joined; split_dim of all_to_all
	Concat int      // concat_dim of all_to_all
	Root   int      // src or dst
	Reduce string   // "sum", "mean", "prod", "max", "min"
	Exact  bool     // whether a sum or a mean has the same bits in any order, and no error but that of rounding it once
	Pairs  [][2]int // of collective_permute

	// Setting is another parameter that members must agree on, as name=value; "" for none.
	Setting string

	// sizes, if set, cuts Dim into these sizes by group rank, instead of
	// even chunks: a gradient goes back to the sizes that came in.
	sizes []int
}

// form is all that sets one collective apart from the others: a new one is a row of
// collectives, and one of builtins/collective/collective.go.
type form struct {
	kind comm.Kind
	// free returns the axis along which members may differ, or -1.
	free func(c *Collective) int
	// dims returns the dims that members must agree on, of which -1 is none.
	dims func(c *Collective) [2]int
	// in returns the blocks that the member offers.
	in func(k *tensorCall) []comm.Block
	// out returns the shape of the member's result; not ok if it has none.
	out func(k *tensorCall) (s shape.Shape, ok bool)
	// place returns where in the result y each block goes.
	place func(k *tensorCall, y *tensor.Tensor) []comm.Block
	// adjoint returns the gradient of the member's input; nil if the
	// operation has none and refuses inputs that require grad.
	adjoint func(k *tensorCall, dy *tensor.Tensor) (*tensor.Tensor, error)
	// instead says, where there is no gradient, which collective has one; "" if none does.
	instead string
}

// collectives is the table of collectives of one tensor. It is filled in init
// because adjoints look it up.
var collectives map[string]*form

func init() {
	const every = ", whose result every member has"
	collectives = map[string]*form{
		"all_reduce":         {comm.AllReduce, noFree, noDims, whole, sameShape, throughout, adjointAllReduce, ""},
		"all_gather":         {comm.AllGather, freeDim, oneDim, whole, joined, eachJoined, adjointAllGather, ""},
		"reduce_scatter":     {comm.ReduceScatter, noFree, oneDim, cutDim, myPart, throughout, adjointReduceScatter, ""},
		"broadcast":          {comm.Broadcast, noFree, noDims, whole, sameShape, throughout, adjointBroadcast, ""},
		"reduce":             {comm.Reduce, noFree, noDims, whole, rootOnly(sameShape), throughout, nil, "use all_reduce" + every},
		"gather":             {comm.Gather, freeDim, oneDim, whole, rootOnly(joined), eachJoined, nil, "use all_gather" + every},
		"scatter":            {comm.Scatter, noFree, oneDim, cutDim, myPart, throughout, adjointScatter, ""},
		"all_to_all":         {comm.AllToAll, freeConcat, bothDims, cutDim, exchanged, eachExchanged, adjointAllToAll, ""},
		"collective_permute": {comm.Permute, noFree, noDims, whole, sameShape, throughout, adjointPermute, ""},
		"ring_forward":       {comm.Permute, noFree, noDims, whole, sameShape, throughout, nil, ""},
	}
}

// CollectiveOps lists the collectives of one tensor by name, those that Collective.Op may be.
func CollectiveOps() []string { return slices.Sorted(maps.Keys(collectives)) }

// A tensorCall is one call of a collective of one tensor by this rank.
type tensorCall struct {
	call
	Collective
	form     *form
	x        *tensor.Tensor // contiguous
	members  []comm.Member  // once they agree
	y        *tensor.Tensor // the result, or nil
	grad     bool           // a member's input requires grad
	recorded bool           // and recording was on
	seq      uint64         // reserved for the node

	made  comm.Op       // op points to it
	block [2]comm.Block // of op.In and of the result, where there is one of each
}

// Run calls the collective c on x and returns its result: nil where c gives
// this member none. Every member of g calls it.
func (r *Rank) Run(g *comm.Group, c Collective, x *tensor.Tensor) (*tensor.Tensor, error) {
	k, err := r.newTensorCall(g, c, x, false)
	if err != nil {
		return nil, err
	}
	if _, err := k.run(); err != nil {
		return nil, err
	}
	return k.finish(), nil
}

// newTensorCall checks the call and makes the operation for package comm.
func (r *Rank) newTensorCall(g *comm.Group, c Collective, x *tensor.Tensor, async bool) (*tensorCall, error) {
	if err := plainOnly(c.Op, x); err != nil {
		return nil, err
	}
	k := &tensorCall{call: call{r: r, g: g, async: async}, Collective: c, form: collectives[c.Op]}
	k.op = &k.made
	if err := k.begin(k.contract(x)); err != nil {
		return nil, err
	}
	var red kernel.Combine
	if c.Reduce != "" {
		var fold *kernel.CombineFold
		if red, fold = kernel.Reducer(x.DType(), c.Reduce, r.Shard.ExactSums); red == nil {
			return nil, &op.ArgError{Func: c.Op, Param: "op", Got: fmt.Sprintf("%q of %s", c.Reduce, op.Describe(x)), Want: "an operation that " + x.DType().String() + " has"}
		}
		k.op.Fold = (*comm.Fold)(fold)
	}
	if c.Exact {
		if red, k.op.Fold = kernel.ExactCombiner(x.DType(), c.Reduce), nil; red == nil {
			return nil, &op.ArgError{Func: c.Op, Param: "exact", Got: fmt.Sprintf("True with op=%q", c.Reduce), Want: `"sum" or "mean"`, Rule: "max and min have no order, and products no exact form"}
		}
	}
	k.recorded = r.Tape.Enabled()
	k.seq = r.Tape.Reserve()
	var err error
	if k.x, err = r.contiguous(x); err != nil {
		return nil, err
	}
	k.op.Kind, k.op.Align, k.op.Reduce, k.op.Prepare = k.form.kind, x.DType().Size(), comm.Reducer(red), k.prepare
	if k.form.kind.Alike() {
		k.op.Share = k
	}
	if k.recorded && x.RequiresGrad() {
		k.op.Desc.Flags |= comm.RequiresGrad
	}
	if g.Holds() {
		k.op.In = k.form.in(k)
	}
	k.sole = solely(k.form.kind)
	k.note(k.x.Numel()*k.x.DType().Size(), k.x.Shape(), k.x.DType().String())
	return k, nil
}

// contract returns the fields that the members compare of the call on x.
func (k *tensorCall) contract(x *tensor.Tensor) comm.Desc {
	d := contract(k.Op)
	d.DType, d.Shape, d.Free = x.DType().String(), stated(x.Shape()), k.form.free(&k.Collective)
	d.Reduce, d.Exact, d.Dims, d.Pairs, d.Detail = k.Reduce, k.Exact, k.form.dims(&k.Collective), k.Pairs, strings.TrimSpace(k.Setting+" "+k.r.pass())
	if k.form.kind.Rooted() {
		d.Root = k.Root
	}
	return d
}

// stated returns s as the contract has it, where nil stands for no tensor.
func stated(s shape.Shape) []int {
	if s == nil {
		return []int{}
	}
	return s
}

// contiguous returns x in row-major order, off the record.
func (r *Rank) contiguous(x *tensor.Tensor) (*tensor.Tensor, error) {
	if b := x.Buffer(); b != nil {
		if err := b.Restore(); err != nil {
			return nil, err
		}
	}
	if x.Contiguous() {
		return x, nil
	}
	c, err := op.Apply(&r.ops, op.Lookup("contiguous"), []*tensor.Tensor{x.Detach()}, nil)
	if err != nil {
		return nil, err
	}
	y := c.Out[0]
	y.Auto = x.Auto
	return y, nil
}

// agreed notes the contracts and flags that the call learns when the members agree.
func (k *tensorCall) agreed(members []comm.Member, flags comm.Flags) error {
	k.members = members
	k.grad = flags&comm.RequiresGrad != 0
	if k.grad && k.form.adjoint == nil {
		return &op.ArgError{Func: k.Op, Param: "x", Got: "a tensor that requires grad on a member", Want: "one that does not", Rule: k.form.instead}
	}
	return nil
}

// prepare makes the result when the members agree.
func (k *tensorCall) prepare(members []comm.Member, flags comm.Flags) ([]comm.Block, error) {
	if err := k.agreed(members, flags); err != nil {
		return nil, err
	}
	s, ok := k.form.out(k)
	if !ok {
		return nil, nil
	}
	y, err := tensor.New(k.r.ops.Alloc, k.x.DType(), s)
	if err != nil {
		return nil, &op.ResourceError{Func: k.Op, Err: err}
	}
	k.y = y
	return k.form.place(k, y), nil
}

// finish returns the result of the call, which has ended well, and records its
// gradient.
func (k *tensorCall) finish() *tensor.Tensor {
	goruntime.KeepAlive(k.x)
	if k.form.kind.Paired() && !k.y.Hollow() && !k.receives() {
		clear(k.y.Bytes())
	}
	if k.y != nil {
		k.y.Buffer().Seal()
	}
	if k.grad && k.recorded {
		k.record(k.seq, []*tensor.Tensor{k.x}, []*tensor.Tensor{k.y}, k.backward)
		return k.y
	}
	y := k.y
	k.x, k.y = nil, nil // the group may refer to the call for some time
	return y
}

// backward is the gradient of the call.
func (k *tensorCall) backward(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
	g := dy[0]
	if g == nil {
		g = t.Do("zeros_like", []*tensor.Tensor{k.y.Detach()}, op.None)
	}
	dx, err := k.form.adjoint(k, g)
	return []*tensor.Tensor{dx}, err
}
