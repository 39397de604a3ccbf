package dtensor

import (
	"tpsh/builtins"
	"tpsh/runtime/tensor"
)

// What checkpoint calls in the middle of a call of a unit's module reads its parameters.
// When backward calls it again, outside of that call, they are the wholes that they were.

func init() { builtins.RegisterRecompute(recomputed) }

// recomputed notes which units are open, and returns what opens them again around each
// call of checkpoint's function. A unit that the function opens itself is open until it returns.
func recomputed(e *builtins.Env) func() func() {
	state := builtins.StateOf[shardState](e)
	if state.open == nil {
		return func() func() { return func() {} }
	}
	var units []*shardUnit
	var held []heldUnit
	for o := state.open; o != nil; o = o.outer {
		for _, u := range o.units {
			units, held = append(units, u), append(held, u.hold())
		}
	}
	return func() func() {
		was, open := *state, &openUnits{outer: &openUnits{units: units}}
		if state.open = open; state.pass == nil {
			state.pass = new(shardPass)
		}
		var undo []func()
		for _, h := range held {
			undo = append(undo, h.show())
		}
		return func() {
			open.close()
			for i := len(undo) - 1; i >= 0; i-- {
				undo[i]()
			}
			*state = was
		}
	}
}

// A heldUnit is an open unit with the wholes of its parameters, which a record refers to.
type heldUnit struct {
	u        *shardUnit
	wholes   []*tensor.Tensor
	recorded bool
}

// hold returns u as it is now.
func (u *shardUnit) hold() heldUnit {
	h := heldUnit{u: u, recorded: u.recorded}
	for _, p := range u.params {
		h.wholes = append(h.wholes, flatOf(p.x).whole)
	}
	return h
}

// show has the parameters stand for these wholes, whose elements are gathered when they are
// read, until what it returns is called.
func (h heldUnit) show() (undo func()) {
	was := h.u.hold()
	h.put()
	h.u.depth++
	for _, g := range h.u.paramGroups {
		g.Begin()
	}
	return func() {
		h.u.endUses()
		h.u.depth--
		was.put()
	}
}

// put has the parameters stand for the wholes, or where there is none for their parts.
func (h heldUnit) put() {
	h.u.recorded = h.recorded
	for i, p := range h.u.params {
		v := flatOf(p.x)
		v.whole = h.wholes[i]
		if p.x.T = v.whole; v.whole == nil {
			p.x.T = v.local
		}
	}
}
