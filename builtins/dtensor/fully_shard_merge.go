package dtensor

import (
	"slices"

	"tpsh/builtins/nn"
	"tpsh/runtime/tensor"
)

// fully_shard makes units of the children of the module that it is given, so that a network that
// is given as a whole is gathered layer by layer. Who gives each layer first and then the network has
// said what the units are: a layer is one, and what fully_shard has made of its children becomes part of it.

// now returns the unit that has the parameters of u: u, unless it has become part of another.
func (u *shardUnit) now() *shardUnit {
	for u.into != nil {
		u = u.into
	}
	return u
}

// mergeInner makes one unit of each module below m that fully_shard was given.
func mergeInner(m *nn.Module) error {
	for _, sub := range m.Modules("") {
		if u := unitOf(sub.M); u != nil && len(u.made) > 0 && u.m.Runs() {
			if err := u.merge(); err != nil {
				return err
			}
		}
	}
	return nil
}

// merge makes the units of children that were made with u part of it. While one of them is
// open they stay as they are.
func (u *shardUnit) merge() error {
	all := append(slices.Clone(u.made), u)
	for _, v := range all {
		v.endManual()
		if v.depth > 0 {
			return nil
		}
		v.release()
	}
	merged := &shardUnit{}
	for _, v := range all {
		merged.params = append(merged.params, v.params...)
		for _, w := range v.also {
			if w = w.now(); !slices.Contains(all, w) {
				merged.addAlso(w)
			}
		}
	}
	for _, v := range u.made {
		v.into = u
	}
	u.params, u.also, u.made, u.paramGroups, u.before, u.order = merged.params, merged.also, nil, nil, nil, nil
	for _, params := range u.byType() {
		if err := u.sharding.move(u, params); err != nil {
			return err
		}
	}
	return nil
}

// move makes params, of one dtype, which are flat parameters of other units, parameters of u: their
// parts on this rank lie one after another again.
func (s *fullSharding) move(u *shardUnit, params []*shardParam) error {
	parts, err := s.room(params)
	if err != nil {
		return err
	}
	defer s.e.Runtime.Tape.SetEnabled(false)()
	for i, p := range params {
		x := asFlat(p.x)
		if _, err := s.e.Runtime.Do("copy_", []*tensor.Tensor{parts[i], x.local.Detach()}); err != nil {
			return err
		}
		x.replace(parts[i])
		x.partOf = &shardPart{p, u}
	}
	s.gatherTogether(u, params)
	return nil
}
