package main

import (
	"fmt"
	"strings"
)

// A mistake is one that is planted into a program, or made in a function that attempt calls.
type mistake struct {
	kind string
	// catchable says that every rank may go on after attempt has caught it: none has left
	// out a call that others have made.
	catchable bool
	// write writes it, in a program of which one rank may be the culprit.
	write func(s *sketch)
}

// plantable are the kinds of them.
var plantable = []mistake{
	{"another shape on one rank", true, differing("all_reduce(zeros(OTHER, 2)GROUP)", "3", "4")},
	{"another dtype on one rank", true, differing("all_gather(ones(5, dtype=OTHER)GROUP)", "float32", "float64")},
	{"another reduction on one rank", true, differing("reduce_scatter(ones(4)GROUP, op=OTHER)", `"sum"`, `"max"`)},
	{"another root on one rank", true, differing("broadcast(ones(6000)GROUP, src=OTHER)", "0", "SIZE - 1")},
	{"another collective on one rank", true, differing("OTHERGROUP)", "all_reduce(ones(6)", "all_gather(ones(6)")},
	{"an asynchronous call of another shape on one rank", true, differing("all_reduce(ones(OTHER)GROUP, async_op=True)[1].wait()", "2", "3")},
	{"another list of objects on one rank", true, func(s *sketch) {
		s.line("scatter_object([1] * (world_size() + (1 if rank() == 0 else 0)), src=0)")
	}},
	{"a failure on one rank", true, onOneRank(`fail("rank", rank(), "does not like it")`)},
	{"an index out of range on one rank", true, onOneRank("ones(3, 4)[rank() + 3]")},
	{"a division by zero on one rank", true, onOneRank("(rank() + 1) // 0")},
	{"products that do not fit on one rank", true, onOneRank("matmul(ones(2, 3), ones(4, 5))")},
	{"an assertion on one rank", true, onOneRank("assert.eq(ones(2) * rank(), ones(2) * 99)")},
	{"an assertion on all ranks", true, onAll("assert.close(ones(2) * (rank() + 1), zeros(2))")},
	{"an argument on all ranks", true, onAll("all_gather(ones(2, 2), dim=2)")},
	{"what differs between ranks", true, onAll("assert.same_on_all_ranks(ones(2) * rank())")},
	{"a group without one rank", true, func(s *sketch) {
		k := s.culprit()
		s.line("if rank() != %d: all_reduce(ones(2), group=new_group([r for r in range(world_size()) if r != %d]))", k, k)
		s.line("if rank() == %d: all_reduce(ones(2), group=new_group([r for r in range(world_size()) if r != %d]))", k, k)
	}},
	{"receives in a ring that nobody sends", true, onAll("recv((rank() + 1) % world_size(), tag=50)")},
	{"another redistribution on one rank", true, func(s *sketch) {
		x := s.name("d")
		s.line(`%s = distribute_tensor(ones(5, 6), init_device_mesh("cpu", (world_size(),)), [Shard(0)])`, x)
		s.line("%s.redistribute(placements=[Replicate() if rank() == %d else Shard(1)])", x, s.culprit())
	}},
	{"plain tensors that differ beside a distributed one", true, func(s *sketch) {
		x := s.name("d")
		s.line(`%s = distribute_tensor(ones(5, 6), init_device_mesh("cpu", (world_size(),)), [Shard(0)])`, x)
		s.line("print((%s * (ones(6) * (1 + rank()))).sum().item())", x)
	}},
	{"a checkpoint that is not there", true, onAll(`load_checkpoint("nowhere", {"x": zeros(2)})`)},
	{"blocks that differ in size on one rank", true, func(s *sketch) {
		s.line(`print(DTensor.from_local(ones(%d if rank() == %d else 2), init_device_mesh("cpu", (world_size(),)), [Partial()]).full_tensor())`, 3+s.rng.IntN(2), s.culprit())
	}},
	{"a checkpoint of another shape on one rank", true, func(s *sketch) {
		s.line(`save_checkpoint("bad", {"x": ones(3 if rank() == %d else 2)})`, s.culprit())
	}},
	{"a leaf that is changed, on all ranks", true, onAll("ones(2, requires_grad=True).add_(1)")},
	{"a reduction of what requires grad", true, func(s *sketch) {
		s.line("reduce(ones(2, requires_grad=rank() == %d))", s.culprit())
	}},
	{"groups in another order on one rank", false, func(s *sketch) {
		s.line("both = [new_group(range(world_size())), new_group(range(world_size() - 1, -1, -1))]")
		s.line("for g in (both[::-1] if rank() == %d else both): all_reduce(ones(2), group=g)", s.culprit())
	}},
	{"a loop without an end on one rank", false, func(s *sketch) {
		s.flags = append(s.flags, "--max-steps", "1000000")
		s.block(fmt.Sprintf("while rank() == %d:", s.culprit()), func() { s.line("pass") })
	}},
	{"a rank that is killed, which others note", false, func(s *sketch) {
		s.line(`faults.kill(%d, at="barrier#%d")`, s.culprit(), s.barriers+1)
		s.line("caught(barrier)")
		s.barriers++
		s.line("caught(lambda: all_reduce(ones(2)))")
	}},
	{"a draw of one rank", false, func(s *sketch) {
		s.line("if rank() == %d: randn(2)", s.culprit())
		s.line(`print(DTensor.randn([4, 4], init_device_mesh("cpu", (world_size(),)), [Shard(0)]).sum().item())`)
	}},
	{"a receive that nobody sends", false, onOneRank("recv((rank() + 1) % world_size(), tag=50)")},
	{"a call that one rank leaves out", false, func(s *sketch) { s.line("if rank() != %d: all_reduce(ones(3))", s.culprit()) }},
	{"a backward that one rank leaves out", false, func(s *sketch) {
		x := s.name("x")
		s.line("%s = ones(3, requires_grad=True)", x)
		s.line("%s = all_reduce(%s * 2.0).sum()", x, x)
		s.line("if rank() != %d: %s.backward()", s.culprit(), x)
	}},
	{"a message that nobody receives", false, onOneRank("send(ones(2), (rank() + 1) % world_size(), tag=50)")},
	{"a rank that is killed", false, func(s *sketch) {
		s.line(`faults.kill(%d, at="barrier#%d")`, s.culprit(), s.barriers+1)
		s.barrier()
	}},
}

// culprit draws the rank that does what others do not.
func (s *sketch) culprit() int { return s.rng.IntN(s.ranks) }

// barrier joins all ranks.
func (s *sketch) barrier() {
	s.barriers++
	s.line("barrier()")
}

// onOneRank is a mistake of one rank.
func onOneRank(call string) func(s *sketch) {
	return func(s *sketch) { s.line("if rank() == %d: %s", s.culprit(), call) }
}

// onAll is a mistake of all ranks.
func onAll(call string) func(s *sketch) { return func(s *sketch) { s.line("%s", call) } }

// differing is a call in a group, in which OTHER stands for what one of its ranks has that
// is not usual.
func differing(call, usual, other string) func(s *sketch) {
	return func(s *sketch) {
		g := s.drawGroup()
		if g.size == 1 {
			g = &groupValue{size: s.ranks}
		}
		group, culprit := "", s.culprit()
		if g.argument != "" {
			group = ", group=" + g.argument
		}
		if g.members != nil {
			culprit = one(s, g.members)
		}
		write := func(format string) {
			s.line("%s", strings.NewReplacer("GROUP", group, "SIZE", fmt.Sprint(g.size)).Replace(format))
		}
		s.within(g, func() {
			if strings.Contains(usual, "(") {
				s.block(fmt.Sprintf("if rank() == %d:", culprit), func() { write(strings.ReplaceAll(call, "OTHER", other)) })
				s.block("else:", func() { write(strings.ReplaceAll(call, "OTHER", usual)) })
				return
			}
			write(strings.ReplaceAll(call, "OTHER", fmt.Sprintf("%s if rank() == %d else %s", other, culprit, usual)))
		})
	}
}

// plant writes a mistake. What ranks print before it is told apart by a line, behind which
// they are joined.
func (s *sketch) plant() {
	m := one(s, plantable)
	s.mistake = m.kind
	s.line("print(%q)", mistakeNext)
	s.barrier()
	m.write(s)
}

// mistakeNext is what a program prints before the mistake that was planted.
const mistakeNext = "the mistake is next"
