package builtins

import (
	"slices"

	"go.starlark.net/starlark"

	"tpsh/runtime/op"
)

// insteadOf returns the signature to call in place of s, or nil to call s itself. An operator
// with op.Def.Instead shares its name with that other one, which is called if an argument is of
// a kind that it alone takes, or if the arguments are too few for s and not for it.
func (s *signature) insteadOf(self *Tensor, args starlark.Tuple, kwargs []starlark.Tuple) *signature {
	if s.instead == nil {
		return nil
	}
	first := 0
	if self != nil {
		first = 1
	}
	for i, v := range args {
		if first+i < len(s.slots) && s.unfit(s.slots[first+i].Param, v) {
			return s.instead
		}
	}
	for _, kw := range kwargs {
		i := slices.IndexFunc(s.slots, func(p slot) bool { return p.Name == string(kw[0].(starlark.String)) })
		if i < 0 && s.unfit(nil, kw[1]) || i >= 0 && s.unfit(s.slots[i].Param, kw[1]) {
			return s.instead
		}
	}
	if n := first + len(args); s.lacks(n, kwargs) && !s.instead.made().lacks(n, kwargs) {
		return s.instead
	}
	return nil
}

// lacks reports whether a call with the first n arguments by position, and these by name, gives a
// parameter nothing that must be given.
func (s *signature) lacks(n int, kwargs []starlark.Tuple) bool {
	named := uint64(0)
	for _, kw := range kwargs {
		if i := s.slotCalled(string(kw[0].(starlark.String)), 0); i >= 0 {
			named |= 1 << i
		}
	}
	for i := n; i < len(s.slots); i++ {
		if s.slots[i].Default == nil && i != s.rest && named&(1<<i) == 0 {
			return true
		}
	}
	return false
}

// unfit reports whether v, given for p, nil for none of s, is what only the operator takes
// that is called instead of s.
func (s *signature) unfit(p *op.Param, v starlark.Value) bool {
	takes := func(fits func(p op.Param) bool) bool { return slices.ContainsFunc(s.instead.def.Params, fits) }
	switch v.(type) {
	case *Tensor:
		return p == nil || !p.IsTensor()
	case starlark.Bool:
		return p != nil && p.Kind == op.OptTensor && takes(func(p op.Param) bool { return p.Kind == op.Bool })
	case starlark.String:
		return p != nil && len(p.Choices) == 0 && takes(func(p op.Param) bool { return len(p.Choices) > 0 })
	case *starlark.List, starlark.Tuple:
		return p != nil && p.Kind == op.Int && takes(func(p op.Param) bool { return p.Kind == op.Ints })
	}
	return false
}
