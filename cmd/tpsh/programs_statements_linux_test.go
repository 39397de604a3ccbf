package main

import (
	"fmt"
	"strings"
)

// A statement is a kind of statement of random programs, of one line or of several.
type statement struct {
	kind   string
	weight int
	where  where
	write  func(s *sketch)
}

// A where says where a statement may stand.
type where uint8

const (
	everywhere where = iota
	// amongAll is for what all ranks do together.
	amongAll
	// atTop is for what stands neither in a loop nor in a function.
	atTop
)

// statements are all kinds of them.
func statements() []statement {
	return []statement{
		{"operator", 24, everywhere, (*sketch).operator},
		{"two tensors", 6, everywhere, (*sketch).twoTensors},
		{"in place", 4, everywhere, (*sketch).inPlace},
		{"distribute", 9, everywhere, (*sketch).distribute},
		{"from_local", 6, everywhere, (*sketch).fromLocal},
		{"drawn", 3, everywhere, (*sketch).drawn},
		{"redistribute", 10, everywhere, (*sketch).redistribute},
		{"local_map", 3, everywhere, (*sketch).localMap},
		{"ColoTensor", 3, amongAll, (*sketch).colo},
		{"collective", 18, everywhere, (*sketch).collective},
		{"asynchronous", 6, everywhere, (*sketch).asynchronous},
		{"messages", 5, everywhere, (*sketch).messages},
		{"pipeline messages", 2, amongAll, (*sketch).pipelineMessages},
		{"objects", 3, everywhere, (*sketch).objects},
		{"trace", 3, everywhere, (*sketch).trace},
		{"gradient", 8, everywhere, (*sketch).gradient},
		{"training", 3, amongAll, (*sketch).training},
		{"pipeline", 2, amongAll, (*sketch).pipeline},
		{"attempt", 5, everywhere, (*sketch).attempt},
		{"caught", 3, amongAll, (*sketch).caught},
		{"file", 5, amongAll, (*sketch).file},
		{"checkpoint", 3, amongAll, (*sketch).checkpoint},
		{"read back", 2, amongAll, (*sketch).readBack},
		{"transformer", 2, amongAll, (*sketch).transformer},
		{"parts", 3, amongAll, (*sketch).parts},
		{"loop", 3, atTop, (*sketch).loop},
		{"function", 3, atTop, (*sketch).function},
		{"shown", 3, everywhere, (*sketch).shown},
	}
}

// may reports whether a statement may stand where the next one is written.
func (s *sketch) may(st *statement) bool {
	return st.where == everywhere || s.members == nil && (st.where == amongAll || s.inside == 0)
}

// statement writes one of a random kind.
func (s *sketch) statement() {
	all := statements()
	total := 0
	for _, st := range all {
		total += st.weight
	}
	for {
		left := s.rng.IntN(total)
		i := 0
		for left -= all[i].weight; left >= 0; left -= all[i].weight {
			i++
		}
		if s.may(&all[i]) {
			s.kinds[all[i].kind]++
			all[i].write(s)
			return
		}
	}
}

// anyValue fits every tensor.
func anyValue(*value) bool { return true }

// operator calls an operator on a tensor.
func (s *sketch) operator() {
	x := s.tensor(anyValue)
	call, shape, dtype := s.apply(x, false)
	s.set(call, value{shape: shape, dtype: dtype, mesh: x.mesh, alike: x.alike})
}

// twoTensors calls an operator on two tensors of one shape. One of them may be plain, if
// it is the same on every rank.
func (s *sketch) twoTensors() {
	x := s.tensor((*value).isNumber)
	y := s.tensor(func(v *value) bool {
		meets := v.mesh == x.mesh || v.mesh == nil && v.alike && v.numel() < 10_000
		return meets && v.dtype == x.dtype && fmt.Sprint(v.shape) == fmt.Sprint(x.shape) || v == x
	})
	format := one(s, []string{"%s + %s", "%s - %s", "%s * %s", "maximum(%s, %s)", "where(%[1]s.gt(%[2]s), %[1]s, %[2]s * 2)"})
	s.set(fmt.Sprintf(format, x.name, y.name), value{shape: x.shape, dtype: x.dtype, mesh: x.mesh, alike: x.alike && y.alike})
}

// inPlace changes a copy of a tensor.
func (s *sketch) inPlace() {
	x := s.tensor((*value).isFloat)
	copied := x.name + ".clone()"
	if x.mesh != nil { // what is Partial takes few changes
		copied = fmt.Sprintf("%s.redistribute(placements=%s).clone()", x.name, s.placements(x.mesh, len(x.shape)))
	}
	y := s.set(copied, value{shape: x.shape, dtype: x.dtype, mesh: x.mesh, alike: x.alike})
	s.line("%s", strings.ReplaceAll(one(s, []string{"X.mul_(0.5)", "X.add_(1)", "X.clamp_(-1, 1)", "X.sub_(X * 0.25)", "X[X.gt(0)] = 2"}), "X", y.name))
	if len(y.shape) > 0 && y.shape[0] > 1 {
		s.line("%s[1] = 7", y.name)
	}
	s.show(y.name)
}

// distribute makes a distributed tensor of a plain one, of which rank 0's counts.
func (s *sketch) distribute() {
	x := s.tensor(func(v *value) bool { return v.mesh == nil })
	m := s.mesh()
	source := ""
	switch s.rng.IntN(5) {
	case 0:
		source = fmt.Sprintf(", src_data_rank=%d", s.rng.IntN(m.size()))
	case 1:
		if x.alike {
			source = ", src_data_rank=None"
		}
	}
	s.set(fmt.Sprintf("distribute_tensor(%s, %s, %s%s)", x.name, m.name, s.placements(m, len(x.shape)), source), value{shape: x.shape, dtype: x.dtype, mesh: m})
}

// fromLocal makes a distributed tensor of what each rank has.
func (s *sketch) fromLocal() {
	x := s.tensor(func(v *value) bool { return v.mesh == nil && v.numel() < 2000 })
	m := s.mesh()
	shape := append([]int(nil), x.shape...)
	partial := "Partial()"
	if x.isNumber() && s.chance(3) {
		partial = one(s, []string{`Partial("max")`, `Partial("min")`})
	}
	list := make([]string, len(m.dims))
	for i, n := range m.dims {
		switch {
		case x.alike && s.chance(3):
			list[i] = "Replicate()"
		case len(shape) > 0 && (x.dtype == "bool" || s.chance(2)):
			dim := s.rng.IntN(len(shape))
			shape[dim] *= n
			list[i] = fmt.Sprintf("Shard(%d)", dim)
		case x.dtype == "bool":
			return
		default:
			list[i] = partial
		}
	}
	s.set(fmt.Sprintf("DTensor.from_local(%s, %s, [%s])", x.name, m.name, strings.Join(list, ", ")), value{shape: shape, dtype: x.dtype, mesh: m})
}

// drawn makes a distributed tensor by a draw.
func (s *sketch) drawn() {
	m := s.mesh()
	shape := s.shape(1 + s.rng.IntN(3))
	dtype := one(s, []string{"float32", "float64"})
	s.set(fmt.Sprintf("DTensor.%s(%s, %s, %s, dtype=%s)", one(s, []string{"rand", "randn"}), listOf(shape), m.name, s.placements(m, len(shape)), dtype), value{shape: shape, dtype: dtype, mesh: m})
}

// placedTensor returns a distributed tensor that fits.
func (s *sketch) placedTensor(fits func(v *value) bool) *value {
	for {
		for _, i := range s.rng.Perm(len(s.values)) {
			if v := s.values[i]; v.mesh != nil && fits(v) {
				return v
			}
		}
		if s.chance(2) {
			s.drawn()
		} else {
			s.distribute()
		}
	}
}

// redistribute places a distributed tensor in another way.
func (s *sketch) redistribute() {
	x := s.placedTensor(anyValue)
	placements := s.placements(x.mesh, len(x.shape))
	switch s.rng.IntN(6) {
	case 0:
		s.set(x.name+".full_tensor()", value{shape: x.shape, dtype: x.dtype, alike: !x.mesh.line})
	case 1:
		if m := s.mesh(); !m.line && !x.mesh.line {
			s.set(fmt.Sprintf("%s.redistribute(mesh=%s, placements=%s)", x.name, m.name, s.placements(m, len(x.shape))), value{shape: x.shape, dtype: x.dtype, mesh: m})
		}
	case 2:
		y, w := s.name("x"), s.name("work")
		s.line("%s, %s = %s.redistribute(placements=%s, async_op=True)", y, w, x.name, placements)
		s.operator()
		if s.chance(2) {
			s.line("%s.wait()", w)
		}
		s.show(y)
	default:
		s.set(fmt.Sprintf("%s.redistribute(placements=%s)", x.name, placements), value{shape: x.shape, dtype: x.dtype, mesh: x.mesh})
	}
}

// lossOf returns an expression of one real number of a tensor.
func lossOf(name string) string { return fmt.Sprintf("(%s.to(float64) * 0.5).pow(2).sum()", name) }

// gradient differentiates a chain of operators, and of collectives if the tensor is plain.
func (s *sketch) gradient() {
	x := s.tensor(func(v *value) bool { return v.is("float32", "float64") && v.numel() < 3000 })
	f := s.name("f")
	s.block(fmt.Sprintf("def %s(v):", f), func() {
		v := &value{name: "v", shape: x.shape, dtype: x.dtype, mesh: x.mesh}
		for range 1 + s.rng.IntN(4) {
			var call string
			shape, dtype := v.shape, v.dtype
			if v.mesh == nil && s.chance(3) {
				call, shape = s.smoothCollective(v)
			} else {
				call, shape, dtype = s.apply(v, true)
			}
			s.line("v = %s", call)
			v = &value{name: "v", shape: shape, dtype: dtype, mesh: v.mesh}
		}
		s.line("return %s", lossOf("v"))
	})
	leaf := s.name("leaf")
	s.line("%s = %s.detach().clone().requires_grad_(True)", leaf, x.name)
	loss := s.name("loss")
	if s.chance(5) {
		s.line("%s = checkpoint(%s, %s)", loss, f, leaf)
	} else {
		s.line("%s = %s(%s)", loss, f, leaf)
	}
	s.show(loss)
	if s.chance(3) {
		s.show(fmt.Sprintf("grad([%s], [%s])[0]", loss, leaf))
		return
	}
	s.line("%s.backward()", loss)
	s.show(leaf + ".grad")
}

// smoothCollective returns a collective of the world that has a gradient, with its shape.
func (s *sketch) smoothCollective(v *value) (call string, shape []int) {
	for {
		c := one(s, collectives)
		if !c.smooth {
			continue
		}
		if arguments, shape, ok := c.write(s, v, s.ranks); ok && shape != nil {
			return fmt.Sprintf("%s(%s, %s%s)", c.name, v.name, arguments, s.argument()), shape
		}
	}
}

// attempt calls what every rank is refused.
func (s *sketch) attempt() {
	x := s.tensor(hasDims(1))
	calls := []string{"X.sum(9)", "X.reshape([-1, 0, 3])", "X[1000000]", "cat([X, 3])", "all_gather(X, dim=7)", "broadcast(X, src=99)", "X.to(\"float31\")",
		"matmul(X, ones(1, 1, 977, 3))", "X.item() if X.numel() != 1 else fail(\"one\")", "fail(\"a failure\", X.ndim)", "[1, 2][5]", "1 // 0", "recv(99)", "new_group([0, 0])",
		"assert.eq(X.ndim, 17)", "load_npy(\"nowhere.npy\")", "X.no_such_name", "all_reduce(X, op=\"median\")"}
	s.line("caught(lambda: %s)", strings.ReplaceAll(one(s, calls), "X", x.name))
}

// caught makes a mistake that attempt catches, after which the ranks go on. They meet first:
// until then a rank that has caught an error of its own may have left out a call.
func (s *sketch) caught() {
	m := one(s, plantable)
	if !m.catchable {
		return
	}
	f := s.name("f")
	outer := s.scope
	s.block(fmt.Sprintf("def %s():", f), func() { m.write(s) })
	s.scope = outer
	s.line("caught(%s)", f)
	s.line("broadcast_object(None)")
}

// trace prints what a call communicates.
func (s *sketch) trace() {
	g := s.drawGroup()
	call, _, _ := s.call(g)
	if s.chance(2) {
		x := s.placedTensor(anyValue)
		g, call = &groupValue{}, fmt.Sprintf("%s.redistribute(placements=%s)", x.name, s.placements(x.mesh, len(x.shape)))
	}
	s.within(g, func() {
		s.line("print([(c.op, c.bytes, c.wire_bytes, c.shape, c.dtype, c.dims, c.group.ranks(), c.where, c.phase) for c in comm_trace(lambda: %s)])", call)
	})
}

// shown prints a tensor as users see it, and what is told of it.
func (s *sketch) shown() {
	if s.chance(3) {
		s.line("print(%s)", s.tensor(anyValue).name)
		return
	}
	x := s.placedTensor(anyValue)
	placements := s.placements(x.mesh, len(x.shape))
	s.line("%s", strings.NewReplacer("X", x.name, "M", x.mesh.name, "P", placements).Replace(one(s, []string{
		"print(explain(X, P))", "visualize_sharding(X)", "print(get_local_shape_and_global_offset(X))",
		"print(M, M.get_coordinate(), M.shape)", "print(X.device_mesh, X.placements, X.local_shape)",
	})))
}

// file saves a tensor of one rank, or of each.
func (s *sketch) file() {
	if s.mistake != "" { // which ranks come this far is open
		return
	}
	x := s.tensor(func(v *value) bool { return v.mesh == nil })
	name := s.name("file")
	format := one(s, []string{`save_npy("NAME.npy", X)`, `save_npz("NAME.npz", {"x": X, "n": tensor([1, 2])})`, `save_safetensors("NAME.safetensors", {"x": X}, metadata={"by": "tpsh"})`, `write_text("NAME.txt", str(X.tolist()))`})
	if x.dtype == "bfloat16" {
		format = `save_safetensors("NAME.safetensors", {"x": X})`
	}
	if s.chance(2) {
		name += `-%d`
		format = strings.Replace(format, `",`, `" % rank(),`, 1)
	} else {
		format = fmt.Sprintf("if rank() == %d: ", s.rng.IntN(s.ranks)) + format
	}
	s.line("%s", strings.NewReplacer("NAME", name, "X", x.name).Replace(format))
}

// readBack saves a tensor of rank 0 and reads it on every rank.
func (s *sketch) readBack() {
	if s.mistake != "" {
		return
	}
	x := s.tensor(func(v *value) bool { return v.mesh == nil && v.dtype != "bfloat16" && len(v.shape) > 0 })
	file := s.name("file")
	if s.chance(2) {
		s.line(`if rank() == 0: save_npy("%s.npy", %s)`, file, x.name)
		s.line("broadcast_object(None)")
		s.set(fmt.Sprintf(`load_npy("%s.npy")`, file), value{shape: x.shape, dtype: x.dtype, alike: true})
		return
	}
	s.line(`if rank() == 0: save_safetensors("%s.safetensors", {"x": %s})`, file, x.name)
	s.line("broadcast_object(None)")
	s.show(fmt.Sprintf(`open_safetensors("%s.safetensors").get_slice("x", 0, 0, min(1 + rank(), %d))`, file, x.shape[0]))
}

// checkpoint saves distributed tensors and loads them in other placements.
func (s *sketch) checkpoint() {
	if s.mistake != "" {
		return
	}
	x := s.placedTensor(func(v *value) bool { return v.dtype != "bool" && !v.mesh.line })
	y := s.placedTensor(func(v *value) bool { return !v.mesh.line }) // else each line has one of its own
	folder := s.name("checkpoint")
	s.line(`save_checkpoint(%q, {"x": %s, "more": {"y": %s}, "n": [1, "two", %d]})`, folder, x.name, y.name, s.names)
	m := s.mesh()
	back := s.name("state")
	s.line(`%s = {"x": DTensor.zeros(%s, %s, %s, dtype=%s)}`, back, listOf(x.shape), m.name, s.placements(m, len(x.shape)), x.dtype)
	s.line(`load_checkpoint(%q, %s)`, folder, back)
	s.show(back + `["x"]`)
}
