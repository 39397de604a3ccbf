package main

import (
	"fmt"
	"slices"
	"strings"
)

// disturb draws flags of the command, and has ranks come late to calls, so that they meet
// in another order than by themselves.
func (s *sketch) disturb() {
	switch s.rng.IntN(12) {
	case 0:
		s.flags = []string{"--verify"}
	case 1:
		s.flags = []string{"--output", "rank0"}
	}
	if !s.chance(3) {
		return
	}
	for range 1 + s.rng.IntN(3) {
		call := one(s, []string{"all_reduce", "all_gather", "broadcast", "reduce_scatter", "all_to_all", "send", "recv", "barrier"})
		s.line("faults.delay(%d, at=\"%s#%d\", ms=%d)", s.rng.IntN(s.ranks), call, 1+s.rng.IntN(3), 1+s.rng.IntN(20))
	}
}

// few writes one to three statements.
func (s *sketch) few() {
	s.inside++
	for range 1 + s.rng.IntN(3) {
		s.statement()
	}
	s.line("pass")
	s.inside--
}

// loop repeats statements. What they assign is there afterwards.
func (s *sketch) loop() {
	s.block(fmt.Sprintf("for _ in range(%d):", 1+s.rng.IntN(3)), s.few)
}

// function puts statements into a function, which is called once or twice.
func (s *sketch) function() {
	f := s.name("f")
	outer := s.scope
	s.block(fmt.Sprintf("def %s():", f), func() {
		s.few()
		s.scope = outer // its variables end with it
	})
	for range 1 + s.rng.IntN(2) {
		s.line("%s()", f)
	}
}

// parts has two parts of the ranks do each something else, at the same time. They draw other
// random numbers, each from a seed of its own.
func (s *sketch) parts() {
	outer := s.scope
	ranks := s.rng.Perm(s.ranks)
	cut := 1 + s.rng.IntN(s.ranks-1)
	var names []string
	lists := [][]int{ranks[:cut], ranks[cut:]}
	for _, members := range lists {
		name := s.name("part")
		names = append(names, name)
		s.block(fmt.Sprintf("def %s():", name), func() {
			s.scope = scope{ranks: len(members), group: s.name("group"), members: members, inside: 1}
			s.values = slices.DeleteFunc(slices.Clone(outer.values), func(v *value) bool { return v.mesh != nil })
			s.line("%s = new_group(%s)", s.group, listOf(members))
			s.few()
		})
		s.scope = outer
	}
	s.block(fmt.Sprintf("if rank() in %s:", listOf(lists[0])), func() { s.line("with_seed(%d, %s)", s.rng.IntN(100), names[0]) })
	s.block("else:", func() { s.line("with_seed(%d, %s)", s.rng.IntN(100), names[1]) })
}

// localMap calls a function of the blocks of a distributed tensor. A collective in it has
// whole tensors, since blocks may differ in size.
func (s *sketch) localMap() {
	x := s.placedTensor(func(v *value) bool { return v.is("float32", "float64") })
	m := x.mesh
	f := one(s, []string{"lambda v: v * 2.0 + 1.0", "lambda v: v.tanh()", "lambda v: v - v.abs()"})
	placements := s.placements(m, len(x.shape))
	if s.chance(3) {
		f = fmt.Sprintf("lambda v: all_reduce(v * 0.5, group=%s.get_group(%d))", m.name, s.rng.IntN(len(m.dims)))
		placements = "[" + strings.Join(slices.Repeat([]string{"Replicate()"}, len(m.dims)), ", ") + "]"
	}
	s.set(fmt.Sprintf("local_map(%s, (%s,), %s, %s)(%s)", f, placements, placements, m.name, x.name), value{shape: x.shape, dtype: x.dtype, mesh: m})
}

// colo makes a ColoTensor of blocks, computes with it and cuts it in another way.
func (s *sketch) colo() {
	degree := one(s, []int{1, s.ranks})
	pg, x := s.name("pg"), s.name("colo")
	s.line("%s = ProcessGroup(tp_degree=%d)", pg, degree)
	spec := func() string {
		return one(s, []string{"ReplicaSpec()", fmt.Sprintf("ShardSpec([0], [%d])", degree), fmt.Sprintf("ShardSpec([-1], [%d])", degree)})
	}
	s.line("%s = ColoTensor(randn(%d, %d), ColoTensorSpec(%s, %s))", x, s.size(), s.size(), pg, one(s, []string{spec(), "ReplicaSpec()"}))
	s.line("print(%s, %s.dist_spec, %s.shape)", x, x, x)
	y := s.name("colo")
	s.line("%s = (%s * 2.0).tanh().redistribute(%s)", y, x, spec())
	s.line("print(%s.dist_spec, bits(%s.to_local()), bits(%s.full_tensor()), bits((%s + %s).sum().full_tensor()))", y, y, y, y, x)
}

// pipelineMessages has each rank exchange tensors with its neighbours, as the stages of a
// pipeline do.
func (s *sketch) pipelineMessages() {
	s.initParallel()
	x, shape := s.name("x"), s.shape(2)
	s.line("%s = randn(%s) * (rank() + 1)", x, listOf(shape))
	y := s.name("y")
	switch s.rng.IntN(3) {
	case 0:
		s.line("%s = recv_forward(%s)", y, listOf(shape))
		s.line("send_forward(%s)", x)
	case 1:
		s.line("send_backward(%s)", x)
		s.line("%s = recv_backward(%s)", y, listOf(shape))
	default:
		s.line("%s = ring_forward(%s, ParallelMode.PIPELINE)", y, x)
	}
	s.show(y)
}

// initParallel makes all ranks the stages of a pipeline.
func (s *sketch) initParallel() {
	if !s.parallel {
		s.line("init_parallel(pipeline=%d)", s.ranks)
		s.parallel = s.inside == 0
	}
}
