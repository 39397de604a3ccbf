package hang

import (
	"fmt"
	"slices"
	"strings"
)

// A difference is a place at which members of a group made different calls.
type difference struct {
	group *Group
	at    Place
	calls []*Call // of the members that made one, by rank
	odd   []*Call // those that are not like most; all if there is no most
	what  string  // in words: "the sizes differ"
}

// uneven has the operations whose buffers may differ among ranks: the arguments
// that need not be the same.
var uneven = map[string]struct{ in, out bool }{
	"all_to_all": {true, true}, "all_to_all_single": {true, true}, "all_to_all_v_single": {true, true},
	"scatter": {in: true}, "gather": {out: true}, "all_gather_v": {in: true}, "reduce_scatter_v": {out: true},
}

// signature has what the members of a group must have the same in a call.
type signature struct{ op, sizes, dtypes string }

func (c *Call) signature() signature {
	u := uneven[c.Op]
	s := signature{op: c.Op}
	if !u.in {
		s.sizes = sizesOf(c.In)
	}
	if !u.out {
		s.sizes += ">" + sizesOf(c.Out)
	}
	// Of a broadcast or a scatter only one rank has an input.
	if c.Op != "scatter" && c.Op != "broadcast" {
		s.dtypes = dtypesOf(c.In)
	}
	if c.Op != "gather" {
		s.dtypes += ">" + dtypesOf(c.Out)
	}
	return s
}

func sizesOf(ts []Tensor) string {
	var b strings.Builder
	for _, t := range ts {
		fmt.Fprint(&b, t.Sizes)
	}
	return b.String()
}

// dtypesOf has the dtypes of tensors, each once: their number may differ.
func dtypesOf(ts []Tensor) string {
	var names []string
	for _, t := range ts {
		if len(t.Sizes) > 0 {
			names = append(names, t.DType)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// wrong says what is wrong with a call by itself, or "".
func (c *Call) wrong() string {
	in, out := total(c.In), total(c.Out)
	switch c.Op {
	case "all_reduce", "allreduce_coalesced":
		if sizesOf(c.In) != sizesOf(c.Out) && len(c.Out) > 0 {
			return "its input and output differ in size"
		}
	case "all_gather", "_all_gather_base", "all_gather_into_tensor_coalesced":
		if n := c.Group.size(); n > 0 && in >= 0 && out >= 0 && !gathers(c.In, c.Out, int64(n)) {
			return fmt.Sprintf("its output is not %d times its input", n)
		}
	case "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor_coalesced":
		if n := c.Group.size(); n > 0 && in >= 0 && out >= 0 && !gathers(c.Out, c.In, int64(n)) {
			return fmt.Sprintf("its input is not %d times its output", n)
		}
	}
	return ""
}

// gathers reports whether big holds n times what small does: in one tensor for
// each of small, or together.
func gathers(small, big []Tensor, n int64) bool {
	if len(small) == 0 || len(big) == 0 {
		return true
	}
	return big[0].numel() == n*small[0].numel() || total(big) == n*total(small)
}

// size returns the number of members, or 0 if that is not known: how many ranks have
// left evidence does not say it.
func (g *Group) size() int {
	if !g.Listed {
		return 0
	}
	return len(g.Members)
}

// total returns the number of elements of ts, or -1 if that overflows.
func total(ts []Tensor) int64 {
	var n int64
	for _, t := range ts {
		m := t.numel()
		if m < 0 || n > 1<<60 {
			return -1
		}
		n += m
	}
	return n
}

// differences returns the first place of each group at which calls differ, but
// for those that the group has gone past.
func (j *Job) differences() []*difference {
	var out []*difference
	for _, g := range j.groups() {
		if d := j.firstDifference(g); d != nil {
			out = append(out, d)
		}
	}
	return out
}

func (j *Job) firstDifference(g *Group) *difference {
	byPlace := map[Place][]*Call{}
	for _, id := range g.Members {
		if r := j.Ranks[id]; r != nil {
			for _, c := range r.comparable(g) {
				byPlace[c.At] = append(byPlace[c.At], c)
			}
		}
	}
	places := make([]Place, 0, len(byPlace))
	for p := range byPlace {
		places = append(places, p)
	}
	slices.SortFunc(places, Place.Compare)
	for i, p := range places {
		d := compare(g, p, byPlace[p])
		if d != nil && !passed(g, byPlace, p, places[i+1:]) {
			d.recall(byPlace)
			return d
		}
	}
	return nil
}

// comparable returns the calls of r in g by whose place the calls of its peers
// can be found.
func (r *Rank) comparable(g *Group) []*Call {
	calls := r.in[g]
	if !r.Truncated || len(calls) == 0 {
		return calls
	}
	// Of coalesced calls at the edge of the buffer some may be lost.
	n := 0
	for n < len(calls) && calls[n].At.Seq == calls[0].At.Seq {
		n++
	}
	if n > 1 || calls[0].Op == "coalesced" {
		return calls[n:]
	}
	return calls
}

// passed reports whether the group made the same call under some later number,
// all its members, and finished it: then what differed before did no harm.
func passed(g *Group, byPlace map[Place][]*Call, at Place, later []Place) bool {
	for _, p := range later {
		calls := byPlace[p]
		if p.Seq > at.Seq && len(calls) == len(g.Members) && compare(g, p, calls) == nil && !slices.ContainsFunc(calls, func(c *Call) bool { return c.Done != Done }) {
			return true
		}
	}
	return false
}

// compare returns how calls at one place differ, or nil.
func compare(g *Group, at Place, calls []*Call) *difference {
	classes := map[signature][]*Call{}
	var wrong []*Call
	for _, c := range calls {
		s := c.signature()
		classes[s] = append(classes[s], c)
		if c.wrong() != "" {
			wrong = append(wrong, c)
		}
	}
	d := &difference{group: g, at: at, calls: calls}
	switch {
	case len(classes) > 1:
		d.what = whatDiffers(classes)
		d.odd = odd(classes, calls)
	case len(wrong) > 0:
		d.what, d.odd = wrong[0].wrong(), wrong
	case !balanced(g, calls):
		d.what, d.odd = "what is sent and what is received differ in size", calls
	default:
		return nil
	}
	return d
}

// odd returns the calls that are not of the class that most are of.
func odd(classes map[signature][]*Call, calls []*Call) []*Call {
	most, tie := 0, false
	var usual signature
	for s, cs := range classes {
		if len(cs) == most {
			tie = true
		} else if len(cs) > most {
			most, tie, usual = len(cs), false, s
		}
	}
	if tie {
		return calls
	}
	var out []*Call
	for _, c := range calls {
		if c.signature() != usual {
			out = append(out, c)
		}
	}
	return out
}

// recall decides where as many made one call as the other, and the operation is
// the same: if the group has made the one before, and none of it the other, the
// other is the odd one.
func (d *difference) recall(before map[Place][]*Call) {
	if len(d.odd) < len(d.calls) || d.what != sizesDiffer && d.what != dtypesDiffer {
		return
	}
	known := map[signature]bool{}
	for p, calls := range before {
		if p.Seq < d.at.Seq {
			for _, c := range calls {
				known[c.signature()] = true
			}
		}
	}
	var odd []*Call
	for _, c := range d.calls {
		if !known[c.signature()] {
			odd = append(odd, c)
		}
	}
	if len(odd) > 0 {
		d.odd = odd
	}
}

// What differs in the calls of one operation.
const (
	sizesDiffer  = "the sizes differ"
	dtypesDiffer = "the dtypes differ"
)

func whatDiffers(classes map[signature][]*Call) string {
	var first signature
	ops, sizes, n := false, false, 0
	for s := range classes {
		if n++; n == 1 {
			first = s
			continue
		}
		ops, sizes = ops || s.op != first.op, sizes || s.sizes != first.sizes
	}
	switch {
	case ops:
		return "the operation differs"
	case sizes:
		return sizesDiffer
	}
	return dtypesDiffer
}

// balanced reports whether an exchange of all with all has as many elements
// going in as coming out, where all members are known to have made it.
func balanced(g *Group, calls []*Call) bool {
	if u := uneven[calls[0].Op]; !u.in || !u.out || !g.Exact || len(calls) != len(g.Members) {
		return true
	}
	var in, out int64
	for _, c := range calls {
		a, b := total(c.In), total(c.Out)
		if a < 0 || b < 0 {
			return true
		}
		in, out = in+a, out+b
	}
	return in == out
}
