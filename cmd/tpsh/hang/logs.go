package hang

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tpsh/internal/lazyregexp"
)

// A watchdog gathers what the lines of NCCL's watchdog say.
type watchdog struct {
	files int
	rows  []*logRow // by rank and group, in order
	works map[workKey]*work
	parts bool // lines are of groups besides that of all ranks
	world int  // ranks 0 to world-1 are named
	late  bool // lines say that a call ran out of time, or that a watchdog itself hangs
}

// A work is what lines say of one rank's calls under one number, which groups count
// each for themselves.
type work struct {
	calls  []*Call   // that differ
	groups []*logRow // of which lines name the number
}

// A logRow is what the lines say of a rank in a group.
type logRow struct {
	rank       int
	name, desc string // of the group
	status     Status
	inner      int // the rank in the group
}

type workKey struct {
	rank int
	seq  int64
}

// What the lines look like. The prefix has the rank in the job; behind PG, a
// rank is one of the group.
var (
	linePrefix = lazyregexp.New(`\[rank([0-9]{1,6})\]:`)
	innerRank  = lazyregexp.New(`\[(?:PG [^\]]* )?Rank ([0-9]{1,6})\]`)
	lineWork   = lazyregexp.New(`WorkNCCL\(SeqNum=([0-9]{1,18}), OpType=([A-Za-z_0-9]{1,64})(?:, NumelIn=([0-9]{1,20}), NumelOut=([0-9]{1,20})|, TensorShape=\[([0-9, ]{0,256})\])?, Timeout\(ms\)=[0-9]+\)`)
	lineGroup  = lazyregexp.New(`\[PG (?:ID [0-9]+ PG GUID )?([^\s\]()]{1,256})(?:\s?\(([^)\]]{0,256})\))? Rank [0-9]+\]`)
	lineStatus = lazyregexp.New(`(?i)last enqueued (?:nccl )?work: (-?[0-9]{1,18}),(?: last started (?:nccl )?work: -?[0-9]{1,18},)? last completed (?:nccl )?work: (-?[0-9]{1,18})`)
	lineLate   = lazyregexp.New(`due to a collective timeout from\s+rank ([0-9]{1,6})|watchdog hang|no heartbeat of its watchdog|caught collective operation timeout`)
	lineAt     = lazyregexp.New(`at (?:nccl |NCCL )?work(?: sequence id)?: ([0-9]{1,18})`)
	lineFrame  = lazyregexp.New(`^(?:\[rank[0-9]+\]:)?\s*#[0-9]+ (\S+) from (.+):([0-9]{1,9})\s*$`)
)

// read takes the watchdog's lines from b and reports whether there are any.
func (w *watchdog) read(b []byte) bool {
	if !bytes.Contains(b, []byte("WorkNCCL(SeqNum=")) && !lineStatus.Get().Match(b) {
		return false
	}
	w.files++
	rank, parts := -1, namesParts(b)
	var failed *Call
	for len(b) > 0 {
		var row []byte
		left := b
		row, b, _ = bytes.Cut(b, []byte("\n"))
		line := string(row[:min(len(row), maxText)])
		if at := linePrefix.Get().FindAllStringIndex(line, 2); len(at) == 2 && at[0][0] < at[1][0] {
			// Ranks that write into one file may begin in the middle of another's line.
			line, b = line[:at[1][0]], left[at[1][0]:]
		}
		if m := lineFrame.Get().FindStringSubmatch(line); m != nil {
			if failed != nil && len(failed.Frames) < maxStack {
				failed.Frames = append(failed.Frames, Frame{m[1], m[2], atoi(m[3])})
			}
			continue
		}
		if m := linePrefix.Get().FindStringSubmatch(line); m != nil {
			rank = int(atoi(m[1]))
			w.world = max(w.world, rank+1)
			inner := innerRank.Get().FindStringSubmatch(line)
			w.parts = w.parts || inner != nil && int(atoi(inner[1])) != rank
		} else if m := innerRank.Get().FindStringSubmatch(line); m != nil && !parts {
			rank = int(atoi(m[1]))
		} else {
			continue
		}
		if m := lineLate.Get().FindStringSubmatch(line); m != nil {
			w.late = true
			if m[1] != "" {
				w.world = max(w.world, int(atoi(m[1]))+1)
			}
		}
		if c := w.line(rank, line); c != nil {
			failed = c
		}
	}
	return true
}

// namesParts reports whether lines that do not say of which rank of the job they are
// name groups besides that of all: a rank in them is then one of nobody knows which.
func namesParts(b []byte) bool {
	for row := range bytes.Lines(b) {
		row = row[:min(len(row), maxText)]
		m := lineGroup.Get().FindSubmatch(row)
		if m != nil && string(m[1]) != defaultName && string(m[2]) != "default_pg" && !linePrefix.Get().Match(row) {
			return true
		}
	}
	return false
}

// line takes what one line says of a rank, and returns the call that it is about.
func (w *watchdog) line(rank int, line string) *Call {
	if w.works == nil {
		w.works = map[workKey]*work{}
	}
	if rank >= maxRank || len(w.works) > maxCalls || len(w.rows) > maxCalls {
		return nil
	}
	if m := lineWork.Get().FindStringSubmatch(line); m != nil {
		k := w.work(rank, atoi(m[1]))
		if lineGroup.Get().MatchString(line) { // some versions name the group in this line
			k.addGroup(w.row(rank, line))
		}
		return k.add(logCall(rank, m))
	}
	m := lineStatus.Get().FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	row := w.row(rank, line)
	row.status = Status{max(row.status.Made, atoi(m[1])), max(row.status.Done, atoi(m[2]))}
	if m := lineAt.Get().FindStringSubmatch(line); m != nil {
		k := w.work(rank, atoi(m[1]))
		k.addGroup(row)
		return k.only()
	}
	return nil
}

func (w *watchdog) work(rank int, seq int64) *work {
	key := workKey{rank, seq}
	if w.works[key] == nil {
		w.works[key] = new(work)
	}
	return w.works[key]
}

// add adds a call, unless a line has told of it before.
func (k *work) add(c *Call) *Call {
	for _, o := range k.calls {
		if o.String() == c.String() && sizesOf(o.Out) == sizesOf(c.Out) {
			return o
		}
	}
	k.calls = append(k.calls, c)
	return c
}

func (k *work) addGroup(row *logRow) {
	if !slices.Contains(k.groups, row) {
		k.groups = append(k.groups, row)
	}
}

// only returns the call, if there is one, and one group at most: of several it is not
// said which call is of which.
func (k *work) only() *Call {
	if len(k.calls) == 1 && len(k.groups) <= 1 {
		return k.calls[0]
	}
	return nil
}

// row returns the row of a rank and of the group that line names.
func (w *watchdog) row(rank int, line string) *logRow {
	name, desc := defaultName, "default_pg"
	if m := lineGroup.Get().FindStringSubmatch(line); m != nil {
		name, desc = m[1], m[2]
	}
	for _, r := range w.rows {
		if r.rank == rank && r.name == name {
			return r
		}
	}
	r := &logRow{rank: rank, name: name, desc: desc, status: Status{-1, -1}, inner: -1}
	if m := innerRank.Get().FindStringSubmatch(line); m != nil {
		r.inner = int(atoi(m[1]))
	}
	w.rows = append(w.rows, r)
	return r
}

func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// logCall makes the pending call of a line about a work.
func logCall(rank int, m []string) *Call {
	c := &Call{Rank: rank, Backend: "nccl", Op: opType(m[2]), Peer: -1, At: Place{Seq: atoi(m[1])}, Done: Pending, Sure: true}
	c.P2P = c.Op == "send" || c.Op == "recv" || c.Op == "coalesced"
	switch in, out := elements(m[3]), elements(m[4]); {
	case in >= 0 && out >= 0:
		c.In, c.Out = []Tensor{{Sizes: []int64{in}}}, []Tensor{{Sizes: []int64{out}}}
	case m[5] != "": // of PyTorch before 2.1: the shape of what goes in
		var t Tensor
		for _, n := range strings.Split(m[5], ",") {
			t.Sizes = append(t.Sizes, max(0, elements(strings.TrimSpace(n))))
		}
		c.In = []Tensor{t}
	}
	return c
}

// elements returns a number of elements, -1 if text says none: of calls on no one tensor it is 2^64 - 1.
func elements(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// opTypes has the recorder's names of operations whose name in a log is not
// just in capitals.
var opTypes = map[string]string{
	"ALLREDUCE": "all_reduce", "ALLGATHER": "all_gather", "_ALLGATHER_BASE": "_all_gather_base", "ALLTOALL": "all_to_all",
	"ALLTOALL_BASE": "all_to_all", "ALLREDUCE_COALESCED": "allreduce_coalesced",
}

func opType(s string) string {
	if n, ok := opTypes[s]; ok {
		return n
	}
	return strings.ToLower(s)
}

// addTo adds what the lines say to a job. What a dump has is kept.
func (w *watchdog) addTo(j *Job) {
	several := w.severalGroups()
	groups := map[*logRow]*Group{}
	for _, row := range w.rows {
		r := j.rank(row.rank)
		if several[row.name] && !r.Dumped {
			groups[row] = &Group{ID: fmt.Sprintf("%s of %d", row.name, row.rank), Name: row.name, Desc: row.desc, Members: []int{row.rank}, Several: true}
			j.Groups[groups[row].ID] = groups[row]
		} else {
			groups[row] = j.group(row.rank, r.raw, row.name, row.desc)
		}
	}
	for key, k := range w.works {
		c := k.only()
		switch {
		case c == nil:
		case len(k.groups) == 1:
			w.place(j.rank(key.rank), groups[k.groups[0]], c)
		case !j.rank(key.rank).Dumped:
			w.place(j.rank(key.rank), j.group(key.rank, nil, defaultName, "default_pg"), c)
		}
	}
	w.addBefore(j)
	for _, row := range w.rows {
		if g := groups[row]; row.status.Made >= 0 && !g.P2P {
			r := j.rank(row.rank)
			s := r.status(g)
			r.Status[g.ID] = Status{max(s.Made, row.status.Made), max(s.Done, row.status.Done)}
		}
	}
	j.TimedOut = j.TimedOut || len(w.works) > 0 || w.late
	j.World = max(j.World, min(w.world, maxRank))
	if len(w.works) > 0 || len(w.rows) > 0 {
		j.findWorld()
		j.findMembers()
		for _, r := range j.Ranks {
			sortCalls(r)
			r.index()
		}
	}
}

// addBefore adds, where no line has the numbers of a group, what the works alone say:
// the watchdog names the first that has not finished, so those before it have. Of
// lines of several groups it is not known which have numbers in common; of one group,
// nobody is more than a call behind.
func (w *watchdog) addBefore(j *Job) {
	if len(w.rows) > 0 || w.parts {
		return
	}
	seqs := map[int]int64{}
	for key, k := range w.works {
		if _, again := seqs[key.rank]; again || len(k.calls) != 1 || k.calls[0].P2P || !joint[k.calls[0].Op] {
			return
		}
		seqs[key.rank] = key.seq
	}
	first, last := int64(math.MaxInt64), int64(0)
	for _, seq := range seqs {
		first, last = min(first, seq), max(last, seq)
	}
	if last-first > 1 {
		return
	}
	for rank, seq := range seqs {
		if r := j.rank(rank); !r.Dumped {
			r.Status[j.group(rank, nil, defaultName, "default_pg").ID] = Status{seq, seq - 1}
		}
	}
}

// severalGroups returns the names that stand for several groups: two ranks are the same
// one in it.
func (w *watchdog) severalGroups() map[string]bool {
	type seat struct {
		name  string
		inner int
	}
	taken, several := map[seat]int{}, map[string]bool{}
	for _, row := range w.rows {
		s := seat{row.name, row.inner}
		if other, ok := taken[s]; ok && other != row.rank && row.inner >= 0 {
			several[row.name] = true
		}
		taken[s] = row.rank
	}
	return several
}

// place gives a call of a line to its rank, unless a dump has told of it.
func (w *watchdog) place(r *Rank, g *Group, c *Call) {
	if r.Dumped || c.Group != nil {
		return
	}
	c.Group = g
	g.P2P = g.P2P || c.P2P
	r.Calls = append(r.Calls, c)
}
