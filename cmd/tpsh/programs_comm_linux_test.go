package main

import (
	"fmt"
	"slices"
	"strings"
)

// A collectiveCall is a collective of tensors as a random program calls it.
type collectiveCall struct {
	name   string
	smooth bool // whether it has a gradient
	// write returns the arguments behind the tensor x, in a group of size members, and the
	// shape of what every member gets: nil if not all get one of the same. It reports whether
	// x can be given to it.
	write func(s *sketch, x *value, size int) (arguments string, shape []int, ok bool)
}

var collectives = []collectiveCall{
	{"all_reduce", true, func(s *sketch, x *value, _ int) (string, []int, bool) { return s.reduction(x), x.shape, x.isNumber() }},
	{"all_gather", true, func(s *sketch, x *value, size int) (string, []int, bool) {
		if len(x.shape) == 0 || x.numel()*size > 200_000 {
			return "", nil, false
		}
		dim := s.rng.IntN(len(x.shape))
		return fmt.Sprintf("dim=%d", dim), scaled(x.shape, dim, size, 1), true
	}},
	{"reduce_scatter", true, func(s *sketch, x *value, size int) (string, []int, bool) {
		if len(x.shape) == 0 || !x.isNumber() {
			return "", nil, false
		}
		dim := s.rng.IntN(len(x.shape))
		return fmt.Sprintf("dim=%d, %s", dim, s.reduction(x)), scaled(x.shape, dim, 1, size), true
	}},
	{"broadcast", true, func(s *sketch, x *value, size int) (string, []int, bool) {
		return fmt.Sprintf("src=%d", s.rng.IntN(size)), x.shape, true
	}},
	{"reduce", false, func(s *sketch, x *value, size int) (string, []int, bool) {
		return fmt.Sprintf("dst=%d, %s", s.rng.IntN(size), s.reduction(x)), nil, x.isNumber()
	}},
	{"gather", false, func(s *sketch, x *value, size int) (string, []int, bool) {
		if len(x.shape) == 0 {
			return "", nil, false
		}
		return fmt.Sprintf("dst=%d, dim=%d", s.rng.IntN(size), s.rng.IntN(len(x.shape))), nil, true
	}},
	{"scatter", true, func(s *sketch, x *value, size int) (string, []int, bool) {
		if len(x.shape) == 0 {
			return "", nil, false
		}
		dim := s.rng.IntN(len(x.shape))
		return fmt.Sprintf("src=%d, dim=%d", s.rng.IntN(size), dim), scaled(x.shape, dim, 1, size), true
	}},
	{"all_to_all", true, func(s *sketch, x *value, size int) (string, []int, bool) {
		if len(x.shape) < 2 {
			return "", nil, false
		}
		dims := s.rng.Perm(len(x.shape))
		shape := scaled(x.shape, dims[0], 1, size)
		if shape != nil {
			shape = scaled(shape, dims[1], size, 1)
		}
		return fmt.Sprintf("split_dim=%d, concat_dim=%d", dims[0], dims[1]), shape, true
	}},
	{"collective_permute", true, func(s *sketch, x *value, size int) (string, []int, bool) {
		to := s.rng.Perm(size)
		var pairs []string
		for from := range size {
			if !s.chance(4) {
				pairs = append(pairs, fmt.Sprintf("(%d, %d)", from, to[from]))
			}
		}
		return fmt.Sprintf("pairs=[%s]", strings.Join(pairs, ", ")), x.shape, true
	}},
}

// scaled returns a shape whose dim is multiplied and divided, or nil if that does not go.
func scaled(shape []int, dim, by, parts int) []int {
	if shape[dim]*by%parts != 0 {
		return nil
	}
	shape = slices.Clone(shape)
	shape[dim] = shape[dim] * by / parts
	return shape
}

// reduction draws an argument that says how to reduce.
func (s *sketch) reduction(x *value) string {
	if x.isFloat() && s.chance(5) {
		return `op="mean"`
	}
	return fmt.Sprintf("op=%q", one(s, []string{"sum", "sum", "sum", "max", "min", "prod"}))
}

// call draws a collective and returns it as it is called on a tensor that it draws, with
// the shape of what all members get, or nil. A group that is not the world is made before.
func (s *sketch) call(g *groupValue) (call string, x *value, shape []int) {
	x = s.tensor(func(v *value) bool { return v.mesh == nil })
	for {
		c := one(s, collectives)
		arguments, shape, ok := c.write(s, x, g.size)
		if !ok {
			continue
		}
		if g.argument != "" {
			arguments += ", group=" + g.argument
		}
		if g.members != nil {
			shape = nil
		}
		return fmt.Sprintf("%s(%s, %s)", c.name, x.name, arguments), x, shape
	}
}

// collective calls one.
func (s *sketch) collective() {
	g := s.drawGroup()
	if s.chance(6) {
		s.unevenGather(g)
		return
	}
	call, x, shape := s.call(g)
	if shape == nil {
		s.within(g, func() { s.show(call) })
		return
	}
	s.set(call, value{shape: shape, dtype: x.dtype})
}

// unevenGather gathers tensors that are longer on some ranks than on others, or empty there.
func (s *sketch) unevenGather(g *groupValue) {
	x := s.tensor(func(v *value) bool { return v.mesh == nil && len(v.shape) > 0 })
	group := ""
	if g.argument != "" {
		group = ", group=" + g.argument
	}
	part := fmt.Sprintf("%s.narrow(0, 0, (rank() * %d + %d) %% %d)", x.name, 1+s.rng.IntN(3), s.rng.IntN(3), x.shape[0]+1)
	s.within(g, func() { s.show(fmt.Sprintf("all_gather(%s, dim=0%s)", part, group)) })
}

// asynchronous issues a collective, does something else, and waits, or reads the result.
func (s *sketch) asynchronous() {
	g := s.drawGroup()
	call, _, _ := s.call(g)
	y, w := s.name("y"), s.name("work")
	s.within(g, func() { s.line("%s, %s = %s, async_op=True)", y, w, strings.TrimSuffix(call, ")")) })
	for range s.rng.IntN(3) {
		one(s, []func(*sketch){(*sketch).operator, (*sketch).collective, (*sketch).redistribute, (*sketch).messages, (*sketch).asynchronous})(s)
	}
	s.within(g, func() {
		switch s.rng.IntN(4) {
		case 0:
			s.line("pass") // it is waited for at the end
		case 1:
			s.line("%s.wait()", w)
			s.show(y)
		default: // what is read waits by itself
			s.show(y)
		}
	})
}

// messages sends tensors around a ring of all ranks, and receives them in another order.
func (s *sketch) messages() {
	x := s.tensor(func(v *value) bool { return v.mesh == nil })
	step := s.rng.IntN(s.ranks)
	tags := s.rng.Perm(3)
	for _, tag := range tags {
		s.line("send(%s, (%s + %d) %% %d, tag=%d%s)", x.name, s.me(), step, s.ranks, tag, s.argument())
	}
	s.rng.Shuffle(len(tags), func(i, k int) { tags[i], tags[k] = tags[k], tags[i] })
	for _, tag := range tags[1:] {
		s.line("recv((%s - %d) %% %d, tag=%d%s)", s.me(), step, s.ranks, tag, s.argument())
	}
	s.set(fmt.Sprintf("recv((%s - %d) %% %d, tag=%d%s)", s.me(), step, s.ranks, tags[0], s.argument()), value{shape: x.shape, dtype: x.dtype})
}

// objects passes values that are no tensors.
func (s *sketch) objects() {
	call := one(s, []string{
		`all_gather_object({"rank": rank(), "list": [rank() * 0.1] * rank()}GROUP)`,
		`broadcast_object([rank(), "of rank", None], src=ROOTGROUP)`,
		`scatter_object([[i, "x" * i] for i in range(SIZE)], src=ROOTGROUP)`,
	})
	s.line("print(%s)", strings.NewReplacer("ROOT", fmt.Sprint(s.rng.IntN(s.ranks)), "GROUP", s.argument(), "SIZE", fmt.Sprint(s.ranks)).Replace(call))
}
