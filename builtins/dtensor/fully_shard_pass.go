package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/nn"
	"tpsh/runtime/tensor"
)

// How units are opened and closed as modules are called. The order is that of the
// program, which is one on all ranks; so is that of the gathers.

// A shardPass is a call of a unit's module that is not inside another's: from one
// to the next, the order in which it opens units tells what to gather early.
type shardPass struct {
	opened []*shardUnit
	order  []*shardUnit // in the last such call
}

// shardState is what a rank keeps of fully sharded modules: the call of one under
// way, and the innermost one with the units that it has opened; or nil.
type shardState struct {
	pass *shardPass
	open *openUnits
}

// openUnits are those that a call of a unit's module computes with.
type openUnits struct {
	units []*shardUnit
	outer *openUnits // of the call around it, or nil
}

// add opens u until the call ends.
func (o *openUnits) add(u *shardUnit) error {
	if err := u.open(); err != nil {
		return err
	}
	o.units = append(o.units, u)
	return nil
}

func (o *openUnits) close() {
	for i := len(o.units) - 1; i >= 0; i-- {
		o.units[i].close()
	}
}

// begin begins a pass if none is under way. end ends it.
func (u *shardUnit) begin() (end func()) {
	state := builtins.StateOf[shardState](u.e)
	if state.pass != nil {
		return func() {}
	}
	p := &shardPass{order: u.order}
	state.pass = p
	return func() {
		state.pass = nil
		if u.order = p.opened; len(p.opened) > 0 {
			u.before = p.opened[len(p.opened)-1]
		}
	}
}

// next notes that u is opened, and starts to gather the unit that is likely to be
// opened next.
func (p *shardPass) next(u *shardUnit) error {
	k := len(p.opened)
	if k > 0 {
		u.before = p.opened[k-1]
	}
	p.opened = append(p.opened, u)
	if u.ahead != nil {
		return prefetchAll(u.ahead)
	}
	if k+1 >= len(p.order) || p.order[k] != u {
		return nil
	}
	return p.order[k+1].prefetch()
}

// prefetchAll starts to gather units.
func prefetchAll(units []*shardUnit) error {
	for _, u := range units {
		if err := u.now().prefetch(); err != nil {
			return err
		}
	}
	return nil
}

// prefetch starts to gather u.
func (u *shardUnit) prefetch() error {
	for _, g := range u.paramGroups {
		if err := g.Prefetch(); err != nil {
			return err
		}
	}
	return nil
}

// around implements Around: u's module is called with the parameters gathered.
func (u *shardUnit) around(next nn.Call) nn.Call {
	return func(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		now := u.now()
		if now != u && now.isOpen() { // by the module that u was made part of
			return next(thread, args, kwargs)
		}
		inner := func(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return now.call(func() (starlark.Value, error) { return next(thread, args, kwargs) })
		}
		if u.given && u.sharding.policy != nil {
			return u.sharding.policy.around(u.e, args, kwargs, inner)
		}
		return inner(args, kwargs)
	}
}

// call calls run, which computes what u's module returns, with the parameters
// gathered.
func (u *shardUnit) call(run func() (starlark.Value, error)) (starlark.Value, error) {
	end := u.begin()
	defer end()
	state := builtins.StateOf[shardState](u.e)
	open := &openUnits{outer: state.open}
	defer open.close()
	for _, v := range append([]*shardUnit{u}, u.also...) {
		if err := open.add(v.now()); err != nil {
			return nil, err
		}
	}
	if err := state.pass.next(u); err != nil {
		return nil, err
	}
	state.open = open
	defer func() { state.open = open.outer }()
	out, err := run()
	if err != nil {
		return nil, err
	}
	return u.watch(open.units, out)
}

// read opens the unit of x, a parameter that a script reads, until the call under
// way ends: a module that holds parameters for others is never called itself.
func (s *fullSharding) read(x *builtins.Tensor) error {
	state, f := builtins.StateOf[shardState](s.e), flatOf(x)
	if state.open == nil || f == nil || f.partOf == nil || f.partOf.unit.depth > 0 {
		return nil
	}
	if err := state.open.add(f.partOf.unit); err != nil {
		return err
	}
	return state.pass.next(f.partOf.unit)
}

// open gathers the parameters of u and has them stand for their wholes.
func (u *shardUnit) open() error {
	wasOpen := u.isOpen()
	u.depth++
	if wasOpen {
		for _, g := range u.paramGroups {
			if err := g.Fetch(); err != nil {
				u.depth--
				return err
			}
		}
		return nil
	}
	if err := u.show(); err != nil {
		u.depth--
		return err
	}
	return nil
}

// isOpen reports whether the parameters of u stand for their wholes, recorded if recording is on.
func (u *shardUnit) isOpen() bool {
	return u.depth > 0 && (u.recorded || !u.e.Runtime.Tape.Enabled())
}

// show has the parameters of u stand for their wholes, recorded if recording is on.
func (u *shardUnit) show() error {
	whole := map[*tensor.Tensor]*tensor.Tensor{} // by part
	for i, g := range u.paramGroups {
		list, err := g.Use()
		if err != nil {
			for _, opened := range u.paramGroups[:i] {
				opened.End()
			}
			return err
		}
		for k, part := range g.Parts() {
			whole[part] = list[k]
		}
	}
	if u.depth > 1 { // they were in use, unrecorded
		u.endUses()
	}
	for _, p := range u.params {
		v := flatOf(p.x)
		v.whole = whole[v.local]
		v.whole.Lens = p.lens
		p.x.T = v.whole
	}
	u.recorded = u.e.Runtime.Tape.Enabled()
	return nil
}

// close ends what open began. With the last, the parameters stand for their parts.
func (u *shardUnit) close() {
	if u.depth--; u.depth > 0 {
		return
	}
	for _, p := range u.params {
		asFlat(p.x).forgetWhole()
	}
	u.endUses()
	u.recorded = false
	if u.early {
		u.release()
	}
}

func (u *shardUnit) endUses() {
	for _, g := range u.paramGroups {
		g.End()
	}
}

// release drops the gathered parameters, unless they are open.
func (u *shardUnit) release() {
	for _, g := range u.paramGroups {
		g.Release()
	}
}

// endManual ends what unshard() began.
func (u *shardUnit) endManual() {
	if u.manual {
		u.manual = false
		u.close()
	}
}

// ended is called when a backward pass has been through u.
func (u *shardUnit) ended() { u.endManual() }

// restore gathers the parameters of u again for the backward pass under way, and
// starts to gather those that it is likely to need next.
func (u *shardUnit) restore() error {
	for _, g := range u.paramGroups {
		if err := g.Again(); err != nil {
			return err
		}
	}
	for _, v := range u.likelyBefore() {
		for _, g := range v.now().paramGroups {
			if g.Wanted() {
				if err := g.Prefetch(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// likelyBefore returns the units to gather while backward goes through u.
func (u *shardUnit) likelyBefore() []*shardUnit {
	switch {
	case u.behind != nil:
		return u.behind
	case u.before == nil || u.before == u:
		return nil
	}
	return []*shardUnit{u.before}
}

// watch returns out, what a module returned that computed with units, so that a
// backward pass that comes to one of its tensors restores these first.
func (u *shardUnit) watch(units []*shardUnit, out starlark.Value) (starlark.Value, error) {
	if !u.e.Runtime.Tape.Enabled() {
		return out, nil
	}
	return mapTensors(out, func(x *builtins.Tensor) (*builtins.Tensor, error) {
		t, err := x.Tensor()
		if err != nil || !t.RequiresGrad() {
			return x, err
		}
		return u.e.Wrap(u.e.Runtime.OnBackward("reshard", t, func() error {
			for _, v := range units {
				if err := v.restore(); err != nil {
					return err
				}
			}
			return nil
		})), nil
	})
}

// mapTensors returns v, a tensor or a tuple, list or dict of values, with f of
// each tensor in it.
func mapTensors(v starlark.Value, f func(x *builtins.Tensor) (*builtins.Tensor, error)) (starlark.Value, error) {
	switch v := v.(type) {
	case *builtins.Tensor:
		return f(v)
	case starlark.Tuple:
		list, err := mapEach(v, f)
		return starlark.Tuple(list), err
	case *starlark.List:
		list, err := mapEach(v, f)
		return starlark.NewList(list), err
	case *starlark.Dict:
		d := starlark.NewDict(v.Len())
		for key, item := range v.Entries() {
			item, err := mapTensors(item, f)
			if err == nil {
				err = d.SetKey(key, item)
			}
			if err != nil {
				return nil, err
			}
		}
		return d, nil
	}
	return v, nil
}

func mapEach(v starlark.Indexable, f func(x *builtins.Tensor) (*builtins.Tensor, error)) ([]starlark.Value, error) {
	list := make([]starlark.Value, v.Len())
	for i := range list {
		var err error
		if list[i], err = mapTensors(v.Index(i), f); err != nil {
			return nil, err
		}
	}
	return list, nil
}
