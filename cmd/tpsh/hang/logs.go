package hang

import (
	"bytes"
	"strconv"
	"strings"

	"tpsh/internal/lazyregexp"
)

// A watchdog gathers what the lines of NCCL's watchdog say.
type watchdog struct {
	files int
	rows  []*logRow // by rank and group, in order
	works map[workKey]*Call
}

// A logRow is what the lines say of a rank in a group.
type logRow struct {
	rank       int
	name, desc string // of the group
	status     Status
	at         []int64 // numbers of calls that ran out of time
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
	lineWork   = lazyregexp.New(`WorkNCCL\(SeqNum=([0-9]{1,18}), OpType=([A-Za-z_0-9]{1,64})(?:, NumelIn=([0-9]{1,18}), NumelOut=([0-9]{1,18}))?, Timeout\(ms\)=[0-9]+\)`)
	lineGroup  = lazyregexp.New(`\[PG (?:ID [0-9]+ PG GUID )?([^\s\]()]{1,256})(?:\s?\(([^)\]]{0,256})\))? Rank [0-9]+\]`)
	lineStatus = lazyregexp.New(`(?i)last enqueued (?:nccl )?work: (-?[0-9]{1,18}),(?: last started (?:nccl )?work: -?[0-9]{1,18},)? last completed (?:nccl )?work: (-?[0-9]{1,18})`)
	lineAt     = lazyregexp.New(`at (?:nccl |NCCL )?work(?: sequence id)?: ([0-9]{1,18})`)
	lineFrame  = lazyregexp.New(`^(?:\[rank[0-9]+\]:)?\s*#[0-9]+ (\S+) from (.+):([0-9]{1,9})\s*$`)
)

// read takes the watchdog's lines from b and reports whether there are any.
func (w *watchdog) read(b []byte) bool {
	if !bytes.Contains(b, []byte("WorkNCCL(SeqNum=")) && !lineStatus.Get().Match(b) {
		return false
	}
	w.files++
	rank := -1
	var failed *Call
	for len(b) > 0 {
		var row []byte
		row, b, _ = bytes.Cut(b, []byte("\n"))
		line := string(row[:min(len(row), maxText)])
		if m := lineFrame.Get().FindStringSubmatch(line); m != nil {
			if failed != nil && len(failed.Frames) < maxStack {
				failed.Frames = append(failed.Frames, Frame{m[1], m[2], atoi(m[3])})
			}
			continue
		}
		if m := linePrefix.Get().FindStringSubmatch(line); m != nil {
			rank = int(atoi(m[1]))
		} else if m := innerRank.Get().FindStringSubmatch(line); m != nil {
			rank = int(atoi(m[1]))
		} else {
			continue
		}
		if c := w.line(rank, line); c != nil {
			failed = c
		}
	}
	return true
}

// line takes what one line says of a rank, and returns the call that it is about.
func (w *watchdog) line(rank int, line string) *Call {
	if w.works == nil {
		w.works = map[workKey]*Call{}
	}
	if rank >= maxRank || len(w.works) > maxCalls || len(w.rows) > maxCalls {
		return nil
	}
	if m := lineWork.Get().FindStringSubmatch(line); m != nil {
		key := workKey{rank, atoi(m[1])}
		if w.works[key] == nil {
			w.works[key] = logCall(rank, m)
		}
		if lineGroup.Get().MatchString(line) { // some versions name the group in this line
			w.row(rank, line).at = append(w.row(rank, line).at, key.seq)
		}
		return w.works[key]
	}
	m := lineStatus.Get().FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	row := w.row(rank, line)
	row.status = Status{max(row.status.Made, atoi(m[1])), max(row.status.Done, atoi(m[2]))}
	if m := lineAt.Get().FindStringSubmatch(line); m != nil {
		row.at = append(row.at, atoi(m[1]))
		return w.works[workKey{rank, atoi(m[1])}]
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
	r := &logRow{rank: rank, name: name, desc: desc, status: Status{-1, -1}}
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
	if m[3] != "" {
		c.In, c.Out = []Tensor{{Sizes: []int64{atoi(m[3])}}}, []Tensor{{Sizes: []int64{atoi(m[4])}}}
	}
	return c
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
	grouped := map[*Call]bool{}
	for _, row := range w.rows {
		r := j.rank(row.rank)
		g := j.group(row.rank, r.raw, row.name, row.desc)
		for _, seq := range row.at {
			if c := w.works[workKey{row.rank, seq}]; c != nil {
				w.place(r, g, c)
				grouped[c] = true
			}
		}
		if row.status.Made >= 0 && !g.P2P {
			s := r.status(g)
			r.Status[g.ID] = Status{max(s.Made, row.status.Made), max(s.Done, row.status.Done)}
		}
	}
	for _, c := range w.works {
		if !grouped[c] && !j.rank(c.Rank).Dumped {
			w.place(j.rank(c.Rank), j.group(c.Rank, nil, defaultName, "default_pg"), c)
		}
	}
	if len(w.works) > 0 || len(w.rows) > 0 {
		j.findWorld()
		j.findMembers()
		for _, r := range j.Ranks {
			sortCalls(r)
			r.index()
		}
	}
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
