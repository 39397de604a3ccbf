package hang

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// A Job is the evidence of all ranks.
type Job struct {
	Ranks   map[int]*Rank
	Groups  map[string]*Group // by id
	World   int               // ranks 0 to World-1 are the job's, as far as is known
	Damaged []string          // files that could not be read, with the reason

	TimedOut bool // a watchdog has said that a call ran out of time
}

// A Rank is the evidence of one rank.
type Rank struct {
	ID    int
	Files []string
	Calls []*Call // in the order in which they were made
	// Status has what the recorder or the watchdog says of whole groups.
	Status map[string]Status // by id of the group
	// Dumped says that there is a dump, and not the lines of a log alone.
	Dumped bool
	// Truncated says that calls are missing before the first one of Calls.
	Truncated bool

	raw *dump
	// unused has the groups, by id, that the recorder shows r to have made no call in.
	unused map[string]bool
	// in has the calls of each group but for sends and receives.
	in  map[*Group][]*Call
	now *Call // the earliest pending one, or nil
}

// A Status has numbers of calls of one rank in one group.
type Status struct {
	Made int64 // of the last call enqueued; -1 if that is not known
	Done int64 // of the last call completed; -1 if that is not known
}

// A Group is a process group.
type Group struct {
	ID   string
	Name string
	Desc string
	// Members are its ranks, ascending. Unless Exact they are only those of
	// which it is known, and there may be others.
	Members []int
	Exact   bool
	P2P     bool // sends or receives were made in it
	Listed  bool // a pg_config has its members
	Several bool // others of the same name are not told apart from it
}

// String returns the group as PyTorch's analyser names it: 5:TENSOR_PARALLEL.
func (g *Group) String() string {
	if g.Desc == "" || g.Desc == "undefined" {
		return g.Name
	}
	return g.Name + ":" + g.Desc
}

// A Doneness says whether a call has finished.
type Doneness int

const (
	Unrecorded Doneness = iota // the evidence has nothing on it
	Pending
	Done
)

// A Call is one recorded call of one rank.
type Call struct {
	Rank    int
	Record  int64 // its place among the rank's calls
	Group   *Group
	At      Place
	Backend string // nccl, gloo
	Op      string // all_reduce
	P2P     bool
	Peer    int // the other rank of a send or receive, -1 if that is not known
	In, Out []Tensor
	Done    Doneness
	// Sure says that the state itself says so: a gloo call that failed counts
	// as retired, too. Of an unrecorded end it says that there is a state, of one
	// that had not completed when it was last looked at.
	Sure   bool
	Frames []Frame
	Time   int64 // when it was made, in ns; 0 if that is not known
}

// A Place is the number of a call in its group, and its place among the calls
// that were coalesced under that number.
type Place struct {
	Seq int64
	Sub int
}

// Compare orders places.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Seq, q.Seq), cmp.Compare(p.Sub, q.Sub))
}

func (p Place) String() string {
	if p.Sub > 0 {
		return fmt.Sprintf("#%d.%d", p.Seq, p.Sub)
	}
	return fmt.Sprintf("#%d", p.Seq)
}

// A Tensor is an argument of a call.
type Tensor struct {
	DType string
	Sizes []int64
}

func (t Tensor) String() string {
	var b strings.Builder
	b.WriteString(dtypeName(t.DType))
	b.WriteByte('[')
	for i, n := range t.Sizes {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	b.WriteByte(']')
	return b.String()
}

// numel returns the number of elements, or -1 if that overflows.
func (t Tensor) numel() int64 {
	n := int64(1)
	for _, s := range t.Sizes {
		if s < 0 || s > 1<<40 || n > 1<<40 {
			return -1
		}
		n *= s
	}
	return n
}

// A Frame is a line of a stack.
type Frame struct {
	Name, File string
	Line       int64
}

// dtypes has tpsh's names of the dtypes that recorders write by C++'s.
var dtypes = map[string]string{
	"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Int": "int32", "Long": "int64",
	"Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}

func dtypeName(s string) string {
	if n, ok := dtypes[s]; ok {
		return n
	}
	return s
}

// String returns the call as a script writes it, with its number.
func (c *Call) String() string {
	args := c.In
	if len(args) == 0 {
		args = c.Out
	}
	var parts []string
	for i, t := range args {
		if i == 2 && len(args) > 3 {
			parts = append(parts, fmt.Sprintf("… %d tensors", len(args)))
			break
		}
		parts = append(parts, t.String())
	}
	if c.P2P && c.Peer >= 0 {
		side := "src"
		if c.Op == "send" {
			side = "dst"
		}
		parts = append(parts, fmt.Sprintf("%s=%d", side, c.Peer))
	}
	text := c.Op + "(" + strings.Join(parts, ", ") + ")"
	if c.P2P {
		return text
	}
	return text + " " + c.At.String()
}

// foreign are parts of the names of files that are not the user's.
var foreign = []string{"/site-packages/", "/dist-packages/", "/lib/python", "/torch/", "<frozen", "<string>"}

// userFrames returns the frames of the user's files, innermost first, or the
// innermost of all if there is none.
func (c *Call) userFrames() []Frame {
	var own []Frame
	for _, f := range c.Frames {
		isOwn := strings.HasSuffix(f.File, ".py") || f.Line > 0 && !strings.ContainsAny(f.File, "?") && !strings.HasSuffix(f.File, ".cpp") && !strings.HasSuffix(f.File, ".h")
		if isOwn && !slices.ContainsFunc(foreign, func(p string) bool { return strings.Contains(f.File, p) }) {
			own = append(own, f)
		}
	}
	if len(own) == 0 && len(c.Frames) > 0 {
		return c.Frames[:1]
	}
	return own
}

// maxFrames is how many of the user's frames a report shows.
const maxFrames = 3

// Where returns the lines of the user's program that made the call, or "".
func (c *Call) Where() string {
	var lines []string
	for _, f := range c.userFrames() {
		if len(lines) == maxFrames {
			break
		}
		lines = append(lines, fmt.Sprintf("%s:%d in %s", f.File, f.Line, f.Name))
	}
	return strings.Join(lines, ", from ")
}

// last returns the last of r's collective calls in g, or nil.
func (r *Rank) last(g *Group) *Call {
	if calls := r.in[g]; len(calls) > 0 {
		return calls[len(calls)-1]
	}
	return nil
}

// index prepares what is looked up often. It follows any change of Calls.
func (r *Rank) index() {
	r.in, r.now = map[*Group][]*Call{}, nil
	for _, c := range r.Calls {
		if !c.P2P {
			r.in[c.Group] = append(r.in[c.Group], c)
		}
		if r.now == nil && c.Done == Pending {
			r.now = c
		}
	}
}

// find returns r's call at a place in g, or nil.
func (r *Rank) find(g *Group, at Place) *Call {
	calls := r.in[g]
	i := sort.Search(len(calls), func(i int) bool { return calls[i].At.Compare(at) >= 0 })
	if i < len(calls) && calls[i].At == at {
		return calls[i]
	}
	return nil
}

// lastOf returns the last call that r made at all, or nil.
func (r *Rank) lastOf() *Call {
	if len(r.Calls) == 0 {
		return nil
	}
	return r.Calls[len(r.Calls)-1]
}

// unsure reports whether it is not recorded of r's last call whether that has finished.
func (r *Rank) unsure() bool {
	c := r.lastOf()
	return c != nil && c.Done == Unrecorded
}

// made returns the place of r's last call in g, and false if the evidence does
// not say. Sends and receives have numbers of their own, which in a group that
// has both hide those of the other calls; but a rank whose calls are recorded
// from the first on has made no others than these.
func (r *Rank) made(g *Group) (Place, bool) {
	c, s := r.last(g), r.status(g)
	switch {
	case g.P2P && c != nil:
		return c.At, true
	case g.P2P:
		return Place{Seq: -1}, r.Dumped && !r.Truncated && r.calledIn(g)
	case c != nil && c.At.Seq >= s.Made:
		return c.At, true
	case s.Made >= 0:
		return Place{s.Made, maxSub}, true
	case c != nil:
		return c.At, true
	case r.unused[g.ID]:
		return Place{Seq: -1}, true
	}
	return Place{Seq: -1}, r.Dumped && !r.Truncated && (len(r.raw.status) == 0 || r.raw.gloo || !g.Exact || g.isDefault())
}

// calledIn reports whether a call of r in g is recorded, a send or receive or any other.
func (r *Rank) calledIn(g *Group) bool {
	return slices.ContainsFunc(r.Calls, func(c *Call) bool { return c.Group == g })
}

// maxSub is above the place of any call among those coalesced with it.
const maxSub = 1 << 30

// status returns what is known of r in g as a whole.
func (r *Rank) status(g *Group) Status {
	if s, ok := r.Status[g.ID]; ok {
		return s
	}
	return Status{-1, -1}
}

// ids returns the ranks of which there is evidence, ascending.
func (j *Job) ids() []int {
	ids := make([]int, 0, len(j.Ranks))
	for id := range j.Ranks {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// groups returns the groups in the order of their names.
func (j *Job) groups() []*Group {
	out := make([]*Group, 0, len(j.Groups))
	for _, g := range j.Groups {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *Group) int { return cmp.Or(compareNames(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return out
}

// sortCalls puts calls in the order in which they were made.
func sortCalls(r *Rank) {
	slices.SortStableFunc(r.Calls, func(a, b *Call) int { return cmp.Or(cmp.Compare(a.Record, b.Record), a.At.Compare(b.At)) })
}
