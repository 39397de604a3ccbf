package collective

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// A collective is how scripts call one of the collectives of tensors.
type collective struct {
	name   string
	params []collectiveParam
}

// A collectiveParam is a parameter of a collective.
type collectiveParam struct {
	names    []string // the first is the one that errors use
	required bool
	set      func(c *collectiveCall, v starlark.Value) error
}

// A collectiveCall is one call of a collective on its way to package runtime.
type collectiveCall struct {
	runtime.Collective
	e     *builtins.Env
	x     *tensor.Tensor
	list  []*tensor.Tensor // of all_to_all, instead of x
	group starlark.Value   // nil for the world
	async bool
	given uint // bits, by the index of the parameter

	from, to starlark.Value // the types that src= and dst= say; nil if they are not given
}

// collectiveParams are the parameters that collectives have.
var collectiveParams = map[string]collectiveParam{
	"x": {[]string{"x", "tensor"}, true, func(c *collectiveCall, v starlark.Value) (err error) {
		if builtins.IsList(v) && c.Op == "all_to_all" {
			c.list, err = builtins.ToTensors(v)
			return err
		}
		c.x, err = builtins.ToTensor(v)
		return err
	}},
	"dim":        {[]string{"dim"}, false, setInt(func(c *collectiveCall) *int { return &c.Dim })},
	"split_dim":  {[]string{"split_dim"}, false, setInt(func(c *collectiveCall) *int { return &c.Dim })},
	"concat_dim": {[]string{"concat_dim"}, false, setInt(func(c *collectiveCall) *int { return &c.Concat })},
	"src":        {[]string{"src"}, false, setInt(func(c *collectiveCall) *int { return &c.Root })},
	"dst":        {[]string{"dst"}, false, setInt(func(c *collectiveCall) *int { return &c.Root })},
	"op": {[]string{"op"}, false, func(c *collectiveCall, v starlark.Value) (err error) {
		c.Reduce, err = ToReduceOp(v)
		return err
	}},
	"exact": {[]string{"exact"}, false, func(c *collectiveCall, v starlark.Value) error {
		return (*arg.Bool)(&c.Exact).Unpack(v)
	}},
	"src type": {[]string{"src"}, false, func(c *collectiveCall, v starlark.Value) error { c.from = v; return nil }},
	"dst type": {[]string{"dst"}, false, func(c *collectiveCall, v starlark.Value) error { c.to = v; return nil }},
	"pairs": {[]string{"pairs"}, true, func(c *collectiveCall, v starlark.Value) (err error) {
		c.Pairs, err = toPairs(v)
		return err
	}},
	"group": {[]string{"group", "parallel_mode"}, false, func(c *collectiveCall, v starlark.Value) error {
		if v != starlark.None {
			c.group = v
		}
		return nil
	}},
	"async_op": {[]string{"async_op"}, false, func(c *collectiveCall, v starlark.Value) error {
		return (*arg.Bool)(&c.async).Unpack(v)
	}},
}

// setInt returns what stores an int in a field of a call.
func setInt(field func(c *collectiveCall) *int) func(*collectiveCall, starlark.Value) error {
	return func(c *collectiveCall, v starlark.Value) (err error) {
		*field(c), err = arg.ToInt(v)
		return err
	}
}

// newCollective returns the collective called name with the given parameters,
// async_op, and exact if it reduces.
func newCollective(name, params string) *collective {
	k := &collective{name: name}
	list := append(strings.Fields(params), "async_op")
	if slices.Contains(list, "op") {
		list = append(list, "exact")
	}
	if spmdtype.Named(name) != nil {
		list = append(list, "src type", "dst type")
	}
	for _, p := range list {
		k.params = append(k.params, collectiveParams[p])
	}
	return k
}

// call carries out a call of a script. Every argument is checked before
// anything is sent.
func (k *collective) call(e *builtins.Env, _ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := &collectiveCall{e: e}
	c.Op = k.name
	if err := k.unpack(c, args, kwargs); err != nil {
		return nil, err
	}
	g, err := GroupOf(e, k.name, c.group)
	if err != nil {
		return nil, err
	}
	if err := c.check(k, g); err != nil {
		return nil, err
	}
	if c.from != nil || c.to != nil || e.Runtime.Typing() && c.x != nil && c.x.Typed() != nil {
		return c.typed(g)
	}
	if c.list != nil {
		return c.exchange(g)
	}
	if c.async {
		return c.issue(g)
	}
	y, err := e.Runtime.Run(g, c.Collective, c.x)
	if err != nil || y == nil {
		return starlark.None, err
	}
	return e.Wrap(y), nil
}

// unpack takes over the arguments of a script.
func (k *collective) unpack(c *collectiveCall, args starlark.Tuple, kwargs []starlark.Tuple) error {
	most := len(k.params)
	if !k.rooted() {
		most -= 2 // types are given by name
	}
	if len(args) > most {
		return arg.TooMany(k.name, len(args), most)
	}
	for i, v := range args {
		if err := k.set(c, i, v); err != nil {
			return err
		}
	}
	for _, kw := range kwargs {
		name := string(kw[0].(starlark.String))
		i := k.find(name)
		if i < 0 {
			return arg.Unexpected(k.name, name, k.names())
		}
		if c.given&(1<<i) != 0 {
			return arg.Duplicate(k.name, name)
		}
		if err := k.set(c, i, kw[1]); err != nil {
			return err
		}
	}
	for i, p := range k.params {
		if p.required && c.given&(1<<i) == 0 {
			return arg.Missing(k.name, p.names[0])
		}
	}
	return nil
}

// set gives the parameter i the value v.
func (k *collective) set(c *collectiveCall, i int, v starlark.Value) error {
	c.given |= 1 << i
	if err := k.params[i].set(c, v); err != nil {
		return arg.In(k.name, k.params[i].names[0], k.hint(i, v, err))
	}
	return nil
}

// hint adds to a mismatch of the value v for parameter i what a caller who knows
// scatter(output, list, src) and its like as PyTorch has them should write here.
func (k *collective) hint(i int, v starlark.Value, err error) error {
	var bad *op.ArgError
	if !errors.As(err, &bad) || bad.Rule != "" {
		return err
	}
	switch name := k.params[i].names[0]; {
	case name == "x" && v == starlark.None && (k.name == "scatter" || k.name == "broadcast"):
		bad.Rule = "every member gives a tensor of that shape and dtype; off src its elements do not count: x if rank() == src else zeros(shape)"
	case name == "src" && k.name == "scatter" && (v == starlark.None || builtins.IsList(v)):
		bad.Rule = "scatter returns this member's part: y = scatter(cat(parts), src=0)"
	case name == "x" && k.name == "all_gather" && builtins.IsList(v):
		bad.Rule = "all_gather returns all members' x, joined: y = all_gather(x), and y.chunk(n) cuts it"
	case name == "dim" && k.name == "reduce_scatter" && isTensors(v):
		bad.Rule = "reduce_scatter returns this member's part: y = reduce_scatter(cat(parts))"
	case name == "dim" && (k.name == "all_gather" || k.name == "gather") && isTensors(v), name == "dst" && k.name == "gather" && isTensors(v):
		bad.Rule = k.name + " returns all members' x, joined: y = " + k.name + "(x)"
	case name == "split_dim" && isTensors(v):
		bad.Rule = "all_to_all returns what has come: y = all_to_all(parts)"
	}
	return err
}

// isTensors reports whether v is a tensor or a list.
func isTensors(v starlark.Value) bool {
	_, one := v.(*builtins.Tensor)
	return one || builtins.IsList(v)
}

// find returns the index of the parameter called name, here or elsewhere, or -1.
func (k *collective) find(name string) int {
	for _, name := range append([]string{name}, arg.Synonyms[name]...) {
		for i, p := range k.params {
			if slices.Contains(p.names, name) {
				return i
			}
		}
	}
	return -1
}

// names returns the names that a call accepts as keywords.
func (k *collective) names() []string {
	var names []string
	for _, p := range k.params {
		names = append(names, p.names...)
	}
	return names
}

// check checks the dims, the root and the pairs of a call on g, and makes the
// dims count from the front.
func (c *collectiveCall) check(k *collective, g *runtime.Group) error {
	for i, p := range k.params {
		name := p.names[0]
		var err error
		switch name {
		case "src", "dst":
			if !k.rooted() {
				continue
			}
			err = member(c.Op, name, c.Root, g)
		case "pairs":
			err = checkPairs(c.Op, c.Pairs, g)
		case "op":
			if c.Reduce == "" {
				c.Reduce = "sum"
			}
		case "dim":
			c.Dim, err = arg.Dim(c.Op, name, c.Dim, c.x.Shape())
		case "split_dim", "concat_dim":
			if c.list == nil && c.given&(1<<i) == 0 {
				return arg.Missing(c.Op, name)
			}
			err = c.checkExchangeDim(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkExchangeDim checks split_dim or concat_dim. A list of tensors has no
// use for them.
func (c *collectiveCall) checkExchangeDim(name string) (err error) {
	dim := &c.Dim
	if name == "concat_dim" {
		dim = &c.Concat
	}
	if c.list == nil {
		*dim, err = arg.Dim(c.Op, name, *dim, c.x.Shape())
	}
	return err
}

// issue starts the call and returns its result and a Work.
func (c *collectiveCall) issue(g *runtime.Group) (starlark.Value, error) {
	w, err := c.e.Runtime.Issue(g, c.Collective, c.x)
	if err != nil {
		return nil, err
	}
	var result starlark.Value = starlark.None
	if rooted := c.Op == "reduce" || c.Op == "gather"; !rooted || isPlace(c.e, g, c.Root) {
		result = c.e.WrapWork(w)
	}
	return starlark.Tuple{result, &Work{c.e, w}}, nil
}

// exchange is an all_to_all of a list.
func (c *collectiveCall) exchange(g *runtime.Group) (starlark.Value, error) {
	list := make([]starlark.Value, len(c.list))
	if c.async {
		works, err := c.e.Runtime.IssueExchange(g, c.list)
		if err != nil {
			return nil, err
		}
		for i, w := range works {
			list[i] = c.e.WrapWork(w)
		}
		return starlark.Tuple{starlark.NewList(list), &Work{c.e, works[0]}}, nil
	}
	out, err := c.e.Runtime.Exchange(g, c.list)
	if err != nil {
		return nil, err
	}
	for i, y := range out {
		list[i] = c.e.Wrap(y)
	}
	return starlark.NewList(list), nil
}

// toPairs returns v, a list of pairs of ranks.
func toPairs(v starlark.Value) ([][2]int, error) {
	var list arg.List
	if err := list.Unpack(v); err != nil {
		return nil, arg.Bad(v, "a list of pairs (source, destination)", "")
	}
	pairs := make([][2]int, len(list))
	for i, item := range list {
		ends, err := arg.ToInts(item)
		if err != nil || len(ends) != 2 {
			return nil, arg.BadItem(item, i, "a pair (source, destination) of ranks")
		}
		pairs[i] = [2]int{ends[0], ends[1]}
	}
	return pairs, nil
}

// checkPairs checks that the ends of pairs are ranks in g, and that no two
// pairs begin or end at the same one.
func checkPairs(fn string, pairs [][2]int, g *runtime.Group) error {
	seen := [2]map[int]bool{{}, {}}
	for i, p := range pairs {
		at := fmt.Sprintf("%v at index %d", shape.Shape(p[:]), i)
		for end, rank := range p {
			if rank < 0 || rank >= g.Size() {
				return &op.ArgError{Func: fn, Param: "pairs", Got: at, Want: fmt.Sprintf("0..%d", g.Size()-1), Rule: "ranks in the group"}
			}
			if seen[end][rank] {
				return &op.ArgError{Func: fn, Param: "pairs", Got: at, Want: "each " + [2]string{"source", "destination"}[end] + " once"}
			}
			seen[end][rank] = true
		}
	}
	return nil
}

// The documentation that collectives have in common.
const (
	docGroup = "group is None for all ranks, or a Group, a ProcessGroup (for its tensor-parallel group), a DeviceMesh of one dim or\na ParallelMode, and the caller is in it; parallel_mode is another name of group.\n"
	docAsync = "With async_op=True the call returns (result, work) at once; the result can be read after work.wait(),\nand waits by itself if it is read before.\n"
	docOp    = `op is "sum", "mean", "prod", "max" or "min", or one of ReduceOp; integers have no mean. "band", "bor" and "bxor" are` + "\nof the bits of integers and bools. Additions are made in the order of the ranks.\n" +
		"With exact=True a sum of floats has no error but that of rounding it once, so that its bits depend neither on the order of the\nranks nor on what adds zeros; a mean is that sum, divided.\n"
	docTypes = "src and dst are the types of x and of the result along the group, such as spmd.P and spmd.I, which say what the gradient is;\nspmd.%s has them.\n"
	docAlike = "Shapes and dtypes are the same on every member.\n"
	docChunk = "A dim that does not divide evenly is cut as x.chunk(n, dim) cuts it: the last parts are shorter, or empty.\n"
)

func init() {
	for _, c := range []struct{ name, params, doc string }{
		{"all_reduce", "x group op",
			"all_reduce(x, group=None, op=\"sum\", async_op=False, exact=False) returns the reduction of every member's x, on every member.\n" +
				docAlike + docOp + docGroup + docAsync + "The gradient is an all_reduce.\n" +
				">>> all_reduce(tensor([1.0, 2.0]), op=\"mean\").tolist()\n[1.0, 2.0]"},
		{"all_gather", "x dim group",
			"all_gather(x, dim=0, group=None, async_op=False) returns every member's x, joined along dim in rank order.\n" +
				"Sizes along dim may differ; other sizes and dtypes are the same on every member.\n" +
				docGroup + docAsync + "The gradient is a reduce_scatter, at the sizes that came in.\n" +
				">>> all_gather(tensor([7])).tolist() == [7] * world_size()\nTrue"},
		{"reduce_scatter", "x dim group op",
			"reduce_scatter(x, dim=0, group=None, op=\"sum\", async_op=False, exact=False) returns this member's part along dim of the reduction of every member's x.\n" +
				docAlike + docChunk + docOp + docGroup + docAsync + "The gradient is an all_gather.\n" +
				">>> reduce_scatter(ones(world_size()), op=\"mean\").tolist()\n[1.0]"},
		{"broadcast", "x src group",
			"broadcast(x, src=0, group=None, async_op=False) returns the x of the member src, on every member.\n" +
				docAlike + docGroup + docAsync + "The gradient is a reduce to src.\n" +
				">>> broadcast(tensor([rank()]), src=0).tolist()\n[0]"},
		{"reduce", "x dst group op",
			"reduce(x, dst=0, group=None, op=\"sum\", async_op=False, exact=False) returns the reduction of every member's x on the member dst, and None on the others.\n" +
				docAlike + docOp + docGroup + docAsync + "It has no gradient: all_reduce has.\n" +
				">>> (reduce(ones(2), dst=0) == None) == (rank() != 0)\nTrue"},
		{"gather", "x dst dim group",
			"gather(x, dst=0, dim=0, group=None, async_op=False) returns every member's x, joined along dim, on the member dst, and None on the others.\n" +
				"Sizes along dim may differ; other sizes and dtypes are the same on every member.\n" +
				docGroup + docAsync + "It has no gradient: all_gather has.\n" +
				">>> (gather(ones(2), dst=0) == None) == (rank() != 0)\nTrue"},
		{"scatter", "x src dim group",
			"scatter(x, src=0, dim=0, group=None, async_op=False) returns this member's part along dim of the x of the member src.\n" +
				docAlike + docChunk + docGroup + docAsync + "The gradient is a gather to src.\n" +
				">>> scatter(arange(world_size()), src=0).tolist() == [rank()]\nTrue"},
		{"all_to_all", "x split_dim concat_dim group",
			"all_to_all(x, split_dim, concat_dim, group=None, async_op=False) returns the parts that the members cut for this one along split_dim, joined along concat_dim in rank order.\n" +
				"Sizes along concat_dim may differ; other sizes and dtypes are the same on every member.\n" + docChunk +
				"x may also be a list of tensors, one for each member and of any shapes; the result is then the list of those\nthat the members have sent here, and the dims are not needed.\n" +
				docGroup + docAsync + "The gradient is an all_to_all.\n" +
				">>> all_to_all(ones(world_size(), 2), 0, 1).shape == (1, 2 * world_size())\nTrue"},
		{"collective_permute", "x pairs group",
			"collective_permute(x, pairs, group=None, async_op=False) returns the x of the member a where pairs has (a, this member), and zeros where it has none.\n" +
				"Each member is at most once a source and at most once a destination.\n" +
				docAlike + docGroup + docAsync + "The gradient goes along the reversed pairs.\n" +
				">>> n = world_size()\n" +
				">>> ring = [(r, (r + 1) % n) for r in range(n)]\n" +
				">>> collective_permute(tensor([rank()]), ring).tolist() == [(rank() - 1) % n]\nTrue"},
	} {
		builtins.Register(&builtins.Row{Name: c.name, Communicates: true, Fn: newCollective(c.name, c.params).call, MakeDoc: func() string {
			if spmdtype.Named(c.name) == nil {
				return c.doc
			}
			head, rest, _ := strings.Cut(c.doc, "\n")
			return strings.Replace(head, ") returns", ", src=None, dst=None) returns", 1) + "\n" + fmt.Sprintf(docTypes, c.name) + rest
		}})
	}
}
