package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// A sketch is a random program while it is being written. It knows what the program has at
// each point: which tensors, of which shapes, on which meshes. So what it writes is right,
// but for the mistake that is planted.
type sketch struct {
	scope
	rng    *rand.Rand
	text   strings.Builder
	indent string
	names  int            // that were given out
	kinds  map[string]int // how many statements it has of each kind
	flags  []string       // of the command that runs it

	parallel bool   // whether it has called init_parallel
	barriers int    // that it has written
	mistake  string // that is planted, or ""
}

// A scope is the ranks for which statements are written, and what these have: all ranks,
// or a part of them which does something else than the others.
type scope struct {
	ranks   int
	group   string // the argument that names it in a call; "" for all ranks
	members []int  // nil for all ranks
	inside  int    // how many blocks, of loops and functions, are around
	values  []*value
	meshes  []*meshValue
	groups  []*groupValue
}

// me is an expression of the place of a rank in the world.
func (c *scope) me() string {
	if c.group == "" {
		return "rank()"
	}
	return c.group + ".rank()"
}

// argument is the world as a further argument of a call.
func (c *scope) argument() string {
	if c.group == "" {
		return ""
	}
	return ", group=" + c.group
}

// A value is a tensor that a variable holds on every rank.
type value struct {
	name  string
	shape []int
	dtype string
	mesh  *meshValue // that it is distributed over; nil for a plain tensor
	alike bool       // whether a plain tensor is the same on every rank
}

// A meshValue is a mesh of all ranks of the world, or a line of one.
type meshValue struct {
	name  string
	dims  []int
	names string // of its dims, one letter each
	line  bool
}

// A groupValue is a group of ranks for a collective.
type groupValue struct {
	argument string // that names it in a call; "" for the world
	size     int
	members  []int // who calls; nil if every rank is in a group of that name
}

// size is the number of ranks of a mesh.
func (m *meshValue) size() int { return (&value{shape: m.dims}).numel() }

func (v *value) numel() int {
	n := 1
	for _, d := range v.shape {
		n *= d
	}
	return n
}

func (v *value) is(dtypes ...string) bool { return slices.Contains(dtypes, v.dtype) }

// isFloat reports whether an operator of real numbers takes v.
func (v *value) isFloat() bool { return v.is("float32", "float64", "bfloat16", "float16") }

// isNumber reports whether arithmetic takes v.
func (v *value) isNumber() bool { return v.dtype != "bool" }

// one returns a random element of list.
func one[T any](s *sketch, list []T) T { return list[s.rng.IntN(len(list))] }

// chance reports true in one of n cases.
func (s *sketch) chance(n int) bool { return s.rng.IntN(n) == 0 }

// line writes a line of the program.
func (s *sketch) line(format string, args ...any) {
	s.text.WriteString(s.indent)
	fmt.Fprintf(&s.text, format, args...)
	s.text.WriteByte('\n')
}

// block writes lines that are indented below a head.
func (s *sketch) block(head string, body func()) {
	s.line("%s", head)
	was := s.indent
	s.indent += "    "
	body()
	s.indent = was
}

// name returns a name that the program does not have.
func (s *sketch) name(stem string) string {
	s.names++
	return fmt.Sprint(stem, s.names)
}

// set assigns a tensor to a new variable and, now and then, shows it.
func (s *sketch) set(expression string, v value) *value {
	v.name = s.name("x")
	s.line("%s = %s", v.name, expression)
	s.values = append(s.values, &v)
	if s.chance(2) {
		s.show(v.name)
	}
	return &v
}

// show prints the bits of what an expression gives.
func (s *sketch) show(expression string) { s.line("show(%q, %s)", expression, expression) }

// listOf writes numbers as a list.
func listOf(numbers []int) string { return strings.ReplaceAll(fmt.Sprint(numbers), " ", ", ") }

// size draws the length of a dim. One of 1, and one that the ranks do not divide, are usual.
func (s *sketch) size() int { return one(s, []int{1, 2, 3, 4, 4, 5, 6, 7}) }

// shape draws a shape of the given number of dims.
func (s *sketch) shape(ndim int) []int {
	shape := make([]int, ndim)
	for i := range shape {
		shape[i] = s.size()
	}
	return shape
}

// largeShape draws a shape whose tensor does not come along with the contract of a call.
func (s *sketch) largeShape() []int {
	return [][]int{{301, 67}, {40, 33, 17}, {70001}, {2, 40000}}[s.rng.IntN(4)]
}

// plain makes a plain tensor. It is the same on every rank, or each rank has one of its own.
func (s *sketch) plain(shape []int, dtype string, alike bool) *value {
	var expression string
	list := listOf(shape)
	switch dtype {
	case "bool":
		expression = fmt.Sprintf("randn(%s).gt(0)", list)
	case "int64", "int32":
		expression = fmt.Sprintf("randint(-9, 9, %s, dtype=%s)", list, dtype)
	default:
		expression = fmt.Sprintf("randn(%s, dtype=%s)", list, dtype)
	}
	switch {
	case alike:
	case dtype == "bool":
		expression += ".logical_xor(tensor(rank() % 2 == 1))"
	default:
		expression = fmt.Sprintf("(%s * (rank() + %d))", expression, 1+s.rng.IntN(3))
	}
	return s.set(expression, value{shape: shape, dtype: dtype, alike: alike})
}

// dtype draws a dtype: most often float32.
func (s *sketch) dtype() string {
	return one(s, []string{"float32", "float32", "float32", "float64", "float64", "bfloat16", "float16", "int64", "int32", "bool"})
}

// tensor returns a value that fits: one that is there, rather a late one, or a new plain
// one of random shape and dtype.
func (s *sketch) tensor(fits func(v *value) bool) *value {
	var found []*value
	for _, v := range s.values {
		if fits(v) {
			found = append(found, v)
		}
	}
	if len(found) > 0 && !s.chance(6) {
		return found[len(found)-1-min(s.rng.IntN(len(found)), s.rng.IntN(len(found)))]
	}
	for range 100 {
		v := &value{shape: s.shape(1 + s.rng.IntN(3)), dtype: s.dtype(), alike: s.chance(2)}
		if s.chance(12) {
			v.shape = s.largeShape()
		}
		if fits(v) {
			return s.plain(v.shape, v.dtype, v.alike)
		}
	}
	return one(s, found)
}

// mesh returns a mesh of all ranks.
func (s *sketch) mesh() *meshValue {
	if len(s.meshes) > 0 && !s.chance(5) {
		return one(s, s.meshes)
	}
	if len(s.meshes) > 0 && s.chance(3) {
		if m := one(s, s.meshes); len(m.dims) > 1 {
			dim := s.rng.IntN(len(m.dims))
			line := &meshValue{name: s.name("mesh"), dims: m.dims[dim : dim+1], names: m.names[dim : dim+1], line: true}
			s.line("%s = %s[%q]", line.name, m.name, line.names)
			s.meshes = append(s.meshes, line)
			return line
		}
	}
	m := &meshValue{name: s.name("mesh"), dims: one(s, factors(s.ranks))}
	m.names = "abc"[:len(m.dims)]
	names := fmt.Sprintf("(%s)", regexp.MustCompile(".").ReplaceAllString(m.names, `"$0", `))
	if s.members == nil && s.chance(2) {
		s.line(`%s = init_device_mesh("cpu", (%s,), mesh_dim_names=%s)`, m.name, strings.Trim(listOf(m.dims), "[]"), names)
	} else {
		s.line(`%s = DeviceMesh("cpu", tensor(%s).reshape(%s), mesh_dim_names=%s)`, m.name, listOf(s.shuffled()), listOf(m.dims), names)
	}
	s.meshes = append(s.meshes, m)
	return m
}

// shuffled returns the ranks of the world in some order, rank 0 of it being the first as often as not.
func (s *sketch) shuffled() []int {
	ranks := s.rng.Perm(s.ranks)
	if s.chance(2) {
		slices.Sort(ranks)
	}
	return s.global(ranks)
}

// global returns the ranks at some places of the world.
func (s *sketch) global(places []int) []int {
	ranks := slices.Clone(places)
	for i, place := range places {
		if s.members != nil {
			ranks[i] = s.members[place]
		}
	}
	return ranks
}

// factors are the shapes of meshes of n ranks, of one to three dims.
func factors(n int) [][]int {
	shapes := [][]int{{n}, {n}, {1, n}, {n, 1}}
	if n == 4 {
		return append(shapes, []int{2, 2}, []int{2, 2}, []int{2, 2}, []int{2, 1, 2}, []int{1, 2, 2}, []int{2, 2, 1})
	}
	return shapes
}

// drawGroup returns a group: the world, one of some of its ranks in some order, or the line of a mesh.
func (s *sketch) drawGroup() *groupValue {
	switch {
	case s.chance(2):
		return &groupValue{argument: s.group, size: s.ranks}
	case s.chance(2):
		m := s.mesh()
		dim := s.rng.IntN(len(m.dims))
		argument := fmt.Sprintf("%s.get_group(%d)", m.name, dim)
		if s.chance(2) && len(m.dims) > 1 {
			argument = fmt.Sprintf("%s[%q]", m.name, m.names[dim:dim+1])
		}
		return &groupValue{argument: argument, size: m.dims[dim]}
	case len(s.groups) > 0 && s.chance(2):
		return one(s, s.groups)
	}
	members := s.global(s.rng.Perm(s.ranks)[:1+s.rng.IntN(s.ranks)])
	g := &groupValue{argument: s.name("group"), size: len(members), members: members}
	s.line("%s = new_group(%s)", g.argument, listOf(members))
	s.groups = append(s.groups, g)
	return g
}

// within writes what the members of a group do.
func (s *sketch) within(g *groupValue, body func()) {
	if g.members == nil {
		body()
		return
	}
	s.block(fmt.Sprintf("if rank() in %s:", listOf(g.members)), body)
}

// placements draws a placement for each dim of a mesh, as text. Where two cut one dim, the
// later may do so first.
func (s *sketch) placements(m *meshValue, ndim int) string {
	list, cut := make([]string, len(m.dims)), map[int][]int{}
	for i := range list {
		list[i] = "Replicate()"
		if ndim > 0 && !s.chance(3) {
			d := s.rng.IntN(ndim)
			list[i], cut[d] = fmt.Sprintf("Shard(%d)", d), append(cut[d], i)
		}
	}
	for d := range ndim {
		if by := cut[d]; len(by) > 1 && s.chance(2) {
			list[by[0]] = fmt.Sprintf("_StridedShard(%d, split_factor=%d)", d, m.dims[by[1]])
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}
