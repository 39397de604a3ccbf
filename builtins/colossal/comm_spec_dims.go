package colossal

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// dims returns v, the argument called param of fn, as dims of the tensor; nil
// if v is.
func (c *CommSpec) dims(fn, param string, v starlark.Value) ([]int, error) {
	if v == nil {
		return nil, nil
	}
	list, err := arg.ToInts(v)
	if err != nil {
		return nil, arg.In(fn, param, err)
	}
	if !c.pattern.mixed && len(list) != 1 {
		return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "one dim"}
	}
	for i, d := range list {
		if list[i], err = arg.Dim(fn, param, d, c.spec.shape); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// setAxes takes over v, the argument logical_process_axis of fn.
func (c *CommSpec) setAxes(fn string, v starlark.Value) error {
	d := c.spec.mesh
	if v == nil {
		if d.Mesh().NDim() == 1 {
			c.axis, c.axes = []int{0}, []int{0}
		}
		return nil
	}
	var list arg.List
	c.listed = list.Unpack(v) == nil
	if !c.listed {
		list = arg.List{v}
	}
	c.axis = make([]int, len(list))
	for i, item := range list {
		a, err := d.Dim(fn, "logical_process_axis", item)
		if err != nil {
			return err
		}
		c.axis[i] = a
	}
	c.axes = c.axis
	return nil
}

// complete checks for the function fn that c has the dims and the axes that its
// pattern needs, and fills in those that follow from others.
func (c *CommSpec) complete(fn string) error {
	p := c.pattern
	if p.mixed {
		return c.completeMixed(fn)
	}
	missing := func(param string) error {
		return &op.ArgError{Func: fn, Param: param, Got: "None", Want: "a dim of the tensor", Rule: p.name}
	}
	c.fillDims()
	if p.gather && c.gather == nil {
		return missing("gather_dim")
	}
	if p.shard && c.shard == nil {
		return missing("shard_dim")
	}
	if len(c.axes) == 0 {
		return &op.ArgError{Func: fn, Param: "logical_process_axis", Got: arg.Show(c.axisValue()), Want: "a mesh dim, or a list of them", Rule: p.name}
	}
	for i, a := range c.axes {
		if slices.Contains(c.axes[:i], a) {
			return &op.ArgError{Func: fn, Param: "logical_process_axis", Got: arg.Show(c.axisValue()), Want: "each mesh dim once"}
		}
	}
	return nil
}

// fillDims gives a pattern in which one dim counts that dim under both names.
func (c *CommSpec) fillDims() {
	if c.pattern.gather == c.pattern.shard {
		return
	}
	if c.gather == nil {
		c.gather = c.shard
	}
	if c.shard == nil {
		c.shard = c.gather
	}
}

// completeMixed is complete of a mixed gather. What is joined and in which
// order the sharding spec says; the other arguments must not contradict it.
func (c *CommSpec) completeMixed(fn string) error {
	cut, axes := c.spec.cut()
	for _, given := range []struct {
		param string
		dims  []int
	}{{"gather_dim", c.gather}, {"shard_dim", c.shard}} {
		if given.dims != nil && !slices.Equal(slices.Sorted(slices.Values(given.dims)), cut) {
			return &op.ArgError{Func: fn, Param: given.param, Got: fmt.Sprint(builtins.IntList(given.dims)), Want: fmt.Sprintf("the dims %v", builtins.IntList(cut)),
				Rule: "those that " + c.spec.String() + " cuts"}
		}
	}
	if !c.axesFit(cut, axes) {
		return &op.ArgError{Func: fn, Param: "logical_process_axis", Got: arg.Show(c.axisValue()), Want: "what " + c.spec.String() + " says",
			Rule: "the mesh dims of gather_dim in its order, or for one dim [1, 1], row by row, or [0, 0], column by column"}
	}
	c.fillMixed()
	return nil
}

// fillMixed gives a mixed gather the dims that are not given, and the mesh dims
// that its sharding spec has.
func (c *CommSpec) fillMixed() {
	cut, axes := c.spec.cut()
	if c.gather == nil {
		c.gather = cut
	}
	if c.shard == nil {
		c.shard = c.gather
	}
	c.axes = axes
}

// axesFit reports whether the axes that are given describe how the sharding
// spec of a mixed gather cuts the dims in cut, along the mesh dims in axes.
func (c *CommSpec) axesFit(cut, axes []int) bool {
	switch {
	case c.axes == nil || len(axes) < 2 || slices.Equal(c.axes, axes):
		return true
	case len(cut) == 1:
		order := 0
		if slices.IsSorted(axes) {
			order = 1
		}
		return slices.Equal(c.axes, []int{order, order})
	}
	var want []int
	for _, d := range c.gather {
		want = append(want, c.spec.axes[d]...)
	}
	return slices.Equal(c.axes, want)
}
