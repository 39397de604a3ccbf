package hang

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxStarRanks is how many ranks a script has at most.
const maxStarRanks = 16

// WriteStar writes a script of tpsh that does on a few ranks what the culprits
// and those of their groups did, and is stopped for the same reason. source
// names the evidence.
func (v *Verdict) WriteStar(w io.Writer, source string) error {
	if len(v.Culprits) == 0 {
		return fmt.Errorf("no culprit is named (%s), so there is nothing to reproduce", v.Verdict)
	}
	s := &star{v: v, number: map[int]int{}, groups: map[*Group]string{}}
	s.choose()
	var b strings.Builder
	s.head(&b, source)
	for _, g := range s.order {
		fmt.Fprintf(&b, "%s = new_group(%s)  # group %s\n", s.groups[g], starInts(s.members(g)), comment(g.String()))
	}
	b.WriteString("\n")
	for i, id := range s.ranks {
		word := "elif"
		if i == 0 {
			word = "if"
		}
		fmt.Fprintf(&b, "%s rank() == %d:\n", word, s.number[id])
		for _, line := range s.does(id) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A star is a script that is being written.
type star struct {
	v      *Verdict
	ranks  []int         // of the job, ascending
	number map[int]int   // of each in the script
	calls  map[int]*Call // what each makes
	groups map[*Group]string
	order  []*Group
}

// choose takes the culprits and the members of the groups in which they failed.
func (s *star) choose() {
	s.calls = map[int]*Call{}
	var others []int
	for _, c := range s.v.Culprits {
		s.ranks = append(s.ranks, c.Rank)
		s.calls[c.Rank] = c.call
		s.use(c.call.Group)
	}
	for _, c := range s.v.Culprits {
		for _, id := range s.v.near(c) {
			if s.calls[id] == nil {
				others = append(others, id)
				s.calls[id] = s.v.callLike(id, c)
			}
		}
	}
	slices.Sort(others)
	s.ranks = s.ranks[:min(len(s.ranks), maxStarRanks)]
	s.ranks = append(s.ranks, others[:min(len(others), maxStarRanks-len(s.ranks))]...)
	slices.Sort(s.ranks)
	for i, id := range s.ranks {
		s.number[id] = i
	}
}

func (s *star) use(g *Group) {
	if s.groups[g] == "" {
		s.order = append(s.order, g)
		s.groups[g] = fmt.Sprintf("g%d", len(s.order))
	}
}

// near returns the ranks that take part in what c failed in.
func (v *Verdict) near(c Culprit) []int {
	if c.call.P2P {
		return []int{c.call.Rank, c.call.Peer}
	}
	ranks := slices.Clone(c.call.Group.Members)
	for _, w := range v.graph.waits[c.Rank] {
		if w.call == c.call {
			ranks = append(ranks, w.to)
		}
	}
	return sortedSet(ranks)
}

// callLike returns what a peer calls where c failed: its own call of that
// number, if it is recorded.
func (v *Verdict) callLike(id int, c Culprit) *Call {
	if r := v.job.Ranks[id]; r != nil {
		for _, own := range r.Calls {
			if own.Group == c.call.Group && !own.P2P && own.At == c.call.At {
				return own
			}
		}
	}
	return c.call
}

// members returns the script's numbers of a group's ranks. One of which not all
// members are known has those that take part.
func (s *star) members(g *Group) []int {
	var out []int
	for _, id := range s.ranks {
		c := s.calls[id]
		_, member := slices.BinarySearch(g.Members, id)
		waited := !g.Exact && slices.ContainsFunc(s.ranks, func(o int) bool {
			return s.calls[o].Group == g && slices.ContainsFunc(s.v.graph.waits[o], func(w wait) bool { return w.to == id })
		})
		if member || waited || c.Group == g {
			out = append(out, s.number[id])
		}
	}
	return out
}

func (s *star) head(b *strings.Builder, source string) {
	var kinds []string
	for _, c := range s.v.Culprits {
		kinds = append(kinds, fmt.Sprintf("rank %d: %s", c.Rank, c.Kind))
	}
	fmt.Fprintf(b, "\"\"\"The hang of %s: %s.\n\n    tpsh run -n %d THIS FILE\n\n", comment(source), strings.Join(kinds[:min(len(kinds), 8)], ", "), len(s.ranks))
	for _, id := range s.ranks {
		fmt.Fprintf(b, "Rank %d here is rank %d of the job.\n", s.number[id], id)
	}
	fmt.Fprintf(b, "Sizes over %d are made smaller.\n\"\"\"\n\n", maxStarSize)
	for _, c := range s.v.Culprits {
		if n, ok := s.number[c.Rank]; ok && c.Kind == NotFinished {
			fmt.Fprintf(b, "faults.kill(%d, at=\"%s#1\")  # its device does not finish the call\n", n, starOp(c.call.Op))
		}
	}
}

// does returns what a rank of the job does, as statements.
func (s *star) does(id int) []string {
	kind := ""
	for _, c := range s.v.Culprits {
		if c.Rank == id {
			kind = c.Kind
		}
	}
	c := s.calls[id]
	if kind == NeverCalled {
		last := ""
		if r := s.v.job.Ranks[id]; r != nil && r.lastOf() != nil && len(r.lastOf().Frames) > 0 {
			last = "; its last call was at " + r.lastOf().Where()
		}
		return []string{"pass  # never makes " + comment(c.String()+last)}
	}
	made := c.String() + at(c.Where())
	if c.Rank != id {
		made += ", as rank " + fmt.Sprint(c.Rank)
	}
	return []string{s.statement(id, c) + "  # " + comment(made)}
}

// comment makes text fit for a comment or a docstring.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == '"' || r == '\\':
			return '?'
		}
		return r
	}, s)
}

// starOps has the operation of tpsh that stands for a recorded one.
var starOps = map[string]string{
	"_all_gather_base": "all_gather", "all_gather_single": "all_gather", "all_gather_into_tensor_coalesced": "all_gather", "all_gather_v": "all_gather",
	"allgather_coalesced": "all_gather", "ALLGATHER_coalesced": "all_gather", "_reduce_scatter_base": "reduce_scatter",
	"reduce_scatter_single": "reduce_scatter", "reduce_scatter_v": "reduce_scatter", "reduce_scatter_tensor_coalesced": "reduce_scatter",
	"REDUCE_SCATTER_coalesced": "reduce_scatter", "allreduce_coalesced": "all_reduce", "all_reduce_barrier": "barrier",
	"_broadcast_oop": "broadcast", "_reduce_oop": "reduce", "all_to_all_single": "all_to_all", "all_to_all_v_single": "all_to_all",
}

func starOp(op string) string {
	if o, ok := starOps[op]; ok {
		return o
	}
	switch op {
	case "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter", "all_to_all", "barrier", "recv":
		return op
	case "send":
		return "recv" // of the answer: sends of tpsh do not wait
	}
	return "barrier"
}

// statement writes a call as one of tpsh.
func (s *star) statement(id int, c *Call) string {
	g := s.groups[c.Group]
	op := starOp(c.Op)
	switch op {
	case "barrier":
		return fmt.Sprintf("barrier(group=%s)", g)
	case "recv":
		peer := c.Peer
		if peer == id {
			peer = c.Rank
		}
		return fmt.Sprintf("recv(%d)", s.number[peer])
	}
	args := "zeros(" + s.shape(c) + ")"
	if d := starDType(c); d != "float32" {
		args = "zeros(" + s.shape(c) + ", dtype=" + d + ")"
	}
	if op == "all_to_all" {
		args += ", 0, 0"
	}
	return fmt.Sprintf("%s(%s, group=%s)", op, args, g)
}

func starInts(ns []int) string {
	var parts []string
	for _, n := range ns {
		parts = append(parts, fmt.Sprint(n))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// maxStarSize is the largest size that a script takes over.
const maxStarSize = 64

// shape returns the sizes of a call's first tensor. Larger ones become small,
// and stay different where they were.
func (s *star) shape(c *Call) string {
	t := c.tensor()
	var large []int64
	for _, id := range s.ranks {
		for _, n := range s.calls[id].tensor().Sizes {
			if n > maxStarSize && !slices.Contains(large, n) {
				large = append(large, n)
			}
		}
	}
	slices.Sort(large)
	var out []int
	for i, n := range t.Sizes {
		switch {
		case i == 8 || n < 0:
		case n > maxStarSize:
			k := min(slices.Index(large, n), 15)
			out = append(out, maxStarSize+len(s.ranks)*(k+1))
		default:
			out = append(out, int(n))
		}
	}
	if len(out) > 3 { // a few large ones would be much memory
		out = append(out[:3], 1)
	}
	if len(out) == 0 {
		out = []int{1}
	}
	return starInts(out)
}

// tensor returns the tensor by which a call is told from another.
func (c *Call) tensor() Tensor {
	switch {
	case len(c.In) > 0:
		return c.In[0]
	case len(c.Out) > 0:
		return c.Out[0]
	}
	return Tensor{}
}

// starDType returns the dtype of tpsh that is next to that of a call.
func starDType(c *Call) string {
	switch d := dtypeName(c.tensor().DType); d {
	case "float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool":
		return d
	case "int8":
		return "uint8"
	case "int16":
		return "int32"
	case "complex64", "complex128":
		return "float64"
	}
	return "float32"
}
