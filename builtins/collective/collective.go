package collective

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
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
// and async_op.
func newCollective(name, params string) *collective {
	k := &collective{name: name}
	for _, p := range append(strings.Fields(params), "async_op") {
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
	if len(args) > len(k.params) {
		return arg.TooMany(k.name, len(args), len(k.params))
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
		return k.blame(i, err)
	}
	return nil
}

// blame says of a mismatch that it is one of parameter i.
func (k *collective) blame(i int, err error) error {
	var bad *op.ArgError
	if errors.As(err, &bad) && bad.Func == "" {
		bad.Func, bad.Param = k.name, k.params[i].names[0]
	}
	return err
}

// find returns the index of the parameter called name, or -1.
func (k *collective) find(name string) int {
	for i, p := range k.params {
		for _, n := range p.names {
			if n == name {
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
	if rooted := c.Op == "reduce" || c.Op == "gather"; !rooted || g.Rank() == c.Root {
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
