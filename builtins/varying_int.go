package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime"
)

// An EachInt is an argument that is an int, which may vary.
type EachInt struct {
	Own int                // of the rank that runs
	Of  func(rank int) int // of each that it runs for; nil: Own
}

// Unpack implements starlark.Unpacker. It tells apart the ranks that have no int.
func (p *EachInt) Unpack(v starlark.Value) (err error) {
	x, ok := v.(*Varying)
	if !ok || x.settled {
		p.Own, err = arg.ToInt(v)
		return err
	}
	known := make([]int, x.env.Runtime.Size())
	find := func(rank int) error {
		y, err := x.on(rank)
		if err == nil {
			known[rank], err = arg.ToInt(y)
		}
		return err
	}
	runtime.Asked(x.env.Runtime, func(rank int) string {
		if err := find(rank); err != nil {
			return err.Error()
		}
		return ""
	})
	if err := find(x.env.Runtime.Self()); err != nil {
		return err
	}
	p.Own, p.Of = known[x.env.Runtime.Self()], func(rank int) int { return known[rank] }
	return nil
}
