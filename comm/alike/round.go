package alike

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"tpsh/comm"
)

// An assembly is the kinds that have a rank in any of some lists of ranks, in which they meet. The
// job's mu guards it, and its rounds.
type assembly struct {
	assemblyKey
	job     *Job
	lists   []int       // of lines
	logs    []*groupLog // of the kinds, nil before all have one
	version int         // of the job when logs were found
	rounds  []*round    // by number of the call

	seats   seating        // that was asked for last
	written map[int]string // the last of their texts
}

// An assemblyKey tells assemblies apart.
type assemblyKey struct {
	logKey
	touched string // the lists, unless there is but one
}

// A round is one call in which the kinds of an assembly meet. It is settled when every kind has come to
// it: those that are told apart later have put in the same.
type round struct {
	*assembly
	n       int
	seen    int // how many of logs have come, as of seenOf
	seenOf  int // version of the job
	waiters []*Kind
	watches bool // one that has yet to come tells of it

	whole  bool           // all have come, and the fields below are set
	agreed bool           // whether all have called the same
	alike  bool           // and have put in the same
	texts  map[int]string // unless they have: of each list, the entries of its members
}

// A seating is the entries of the members of a list in a round.
type seating struct {
	of      *entry // of all members, if they have put in the same
	n, list int    // otherwise
	entries []*entry
	members []comm.Member
	flags   comm.Flags
}

// assemble returns the kinds that the ranks of the log's kind meet. The caller holds mu.
func (s *groupLog) assemble() *assembly {
	members := s.kind.members
	if s.assembly != nil && s.assembled == len(members) {
		return s.assembly
	}
	key, lists := assemblyKey{logKey: s.logKey}, []int{0}
	if s.lines.Count() > 1 {
		lists = lists[:0]
		touched := make([]bool, s.lines.Count())
		for _, rank := range members {
			if n := s.lines.Index(int(rank)); !touched[n] {
				touched[n] = true
				lists = append(lists, n)
			}
		}
		var b []byte
		for _, n := range lists {
			b = binary.AppendUvarint(b, uint64(n))
		}
		key.touched = string(b)
	}
	j := s.kind.job
	a := j.assemblies[key]
	if a == nil {
		a = &assembly{assemblyKey: key, job: j, lists: lists}
		j.assemblies[key] = a
	}
	s.assembly, s.assembled = a, len(members)
	return a
}

// round returns that of call n. The caller holds mu.
func (a *assembly) round(n int) *round {
	for len(a.rounds) <= n {
		a.rounds = append(a.rounds, &round{assembly: a, n: len(a.rounds), seenOf: -1})
	}
	return a.rounds[n]
}

// find finds the logs of all kinds, and returns one that has yet to come to the group; nil if none has.
func (a *assembly) find() (lacks *Kind) {
	j := a.job
	if a.logs != nil && a.version == j.version {
		return nil
	}
	known := map[*Kind]bool{}
	var logs []*groupLog
	for _, n := range a.lists {
		for _, rank := range a.lines.lists[n] {
			k := j.of[rank]
			if known[k] {
				continue
			}
			known[k] = true
			s := k.logOf(a.logKey, rank)
			if s == nil {
				return k
			}
			logs = append(logs, s)
		}
	}
	a.logs, a.version = logs, j.version
	return nil
}

// lacking returns a kind that has yet to come to the round, nil if none has. The caller holds mu.
func (m *round) lacking() *Kind {
	if m.whole {
		return nil
	}
	if k := m.find(); k != nil {
		return k
	}
	if m.seenOf != m.version {
		m.seen, m.seenOf = 0, m.version
	}
	for ; m.seen < len(m.logs); m.seen++ {
		if s := m.logs[m.seen]; len(s.calls) <= m.n {
			return s.kind
		}
	}
	m.settle()
	return nil
}

// watch has the waiters go on when all kinds have come. The caller holds mu.
func (m *round) watch() {
	k := m.lacking()
	if m.watches = k != nil; m.watches {
		k.watchers = append(k.watchers, m.watch)
		return
	}
	for _, w := range m.waiters {
		w.resume()
	}
	m.waiters = nil
}

// settle compares the entries of a round to which all kinds have come.
func (m *round) settle() {
	m.whole, m.agreed, m.alike = true, true, true
	first := m.logs[0].calls[m.n]
	for _, s := range m.logs[1:] {
		e := s.calls[m.n]
		m.agreed = m.agreed && e.agrees(first)
		m.alike = m.alike && e.same(first)
	}
	m.alike = m.alike && (first.each == nil || len(m.lists) == 1)
	if m.agreed && !m.alike {
		if texts := m.write(); !maps.Equal(texts, m.written) {
			m.written = texts
		}
		m.texts = m.written
	}
}

// write returns, for each list, the entries of its members, as numbers.
func (m *round) write() map[int]string {
	type numbered struct {
		*entry
		n uint64
	}
	distinct := map[uint64][]numbered{} // by sum
	number, next := make(map[*Kind]uint64, len(m.logs)), uint64(0)
	for _, s := range m.logs {
		e := s.calls[m.n]
		some := distinct[e.sum]
		i := slices.IndexFunc(some, func(o numbered) bool { return e.same(o.entry) })
		if i < 0 {
			i = len(some)
			some = append(some, numbered{e, next})
			distinct[e.sum], next = some, next+1
		}
		number[s.kind] = some[i].n
	}
	texts := make(map[int]string, len(m.lists))
	for _, n := range m.lists {
		var b []byte
		for _, rank := range m.lines.lists[n] {
			k := m.job.of[rank]
			b = binary.AppendUvarint(b, number[k])
			if e := k.logOf(m.logKey, rank).calls[m.n]; e.each != nil {
				b = append(b, bytes.Join(e.each[rank], nil)...) // as long as those of the kind's other ranks
			}
		}
		texts[n] = string(b)
	}
	return texts
}

// seat returns the entries of the members of a list, to be read only. The caller holds mu.
func (m *round) seat(list int) *seating {
	s, ranks := &m.assembly.seats, m.lines.lists[list]
	entryOf := func(rank int) *entry { return m.job.of[rank].logOf(m.logKey, rank).calls[m.n] }
	if m.alike {
		if e := entryOf(ranks[0]); s.of == nil || len(s.members) != len(ranks) || !s.of.same(e) {
			*s = seating{of: e, members: slices.Repeat([]comm.Member{e.member()}, len(ranks)), flags: e.desc.Flags}
		}
		return s
	}
	if s.of == nil && s.entries != nil && s.n == m.n && s.list == list {
		return s
	}
	*s = seating{n: m.n, list: list, entries: make([]*entry, len(ranks)), members: make([]comm.Member, len(ranks))}
	for i, rank := range ranks {
		e := entryOf(rank)
		s.entries[i], s.members[i] = e, e.member()
		s.flags |= e.desc.Flags
	}
	return s
}

// blocks returns those that a rank of the kind has put in.
func (e *entry) blocks(rank int) [][]byte {
	if e.each != nil {
		return e.each[rank]
	}
	return e.data
}

// member returns e as other members see it.
func (e *entry) member() comm.Member { return comm.Member{Free: e.desc.FreeSize(), Meta: e.meta} }

// at returns the entry of the member at place.
func (s *seating) at(place int) *entry {
	if s.of != nil {
		return s.of
	}
	return s.entries[place]
}
