package alike

import (
	"slices"
	"strings"

	"tpsh/comm"
)

// A logKey tells the groups of a kind apart.
type logKey struct {
	lines    *Lines
	instance string // of groups of the same ranks
}

// A groupLog is a group as a kind sees it, for each of its ranks the one that lines say,
// with the calls that the kind has made there. The job's mu guards it, but for taken.
type groupLog struct {
	kind *Kind
	logKey
	calls []*entry // that the kind has made, or those that it was told apart from
	made  int      // how many of calls its stand-in has made itself
	sends channels
	takes channels

	assembly  *assembly // that the kind meets, when it had so many members
	assembled int
}

// An entry is the contract and the blocks of a kind in a collective.
type entry struct {
	desc  comm.Desc
	kind  comm.Kind
	meta  []byte
	first int              // the length of the first block, if the call's bytes are those of one
	data  [][]byte         // the blocks, unless they are hollow
	each  map[int][][]byte // by rank, where ranks of the kind have put in unlike ones; else nil
	sum   uint64           // of what is compared: the same of the same
	where func() string
	wave  *wave // in which the call was made, or nil
}

// An envelope is a message.
type envelope struct {
	meta  []byte
	size  int
	where string
	wave  *wave // in which it was sent or promised, or nil
}

// same reports whether e and o are the same but for their lines.
func (e *envelope) same(o *envelope) bool { return e.size == o.size && slices.Equal(e.meta, o.meta) }

// behind reports whether the stand-in has yet to make again calls of the log.
func (s *groupLog) behind() bool {
	return s.made < len(s.calls) || s.sends.behind()
}

// inherited returns s for ranks that are told apart from its kind.
func (s *groupLog) inherited(k *Kind) *groupLog {
	return &groupLog{kind: k, logKey: s.logKey, calls: slices.Clip(s.calls), sends: s.sends.inherited(k), takes: channels{}}
}

// A member is a stand-in's side of a group.
type member struct {
	job      *Job
	endpoint *comm.Endpoint
	group    *comm.Group
	log      *groupLog // nil before it is bound
}

// Bind says that g, of which the stand-in is a member, is the group that lines say
// for each rank of the kind. A group that is not bound is the same for all. Bound twice, g is
// an observation: for which ranks both say the same.
func (k *Kind) Bind(g *comm.Group, lines *Lines) {
	m, ok := g.Transport().(*member)
	if !ok {
		return
	}
	if m.log != nil {
		k.Same(m.log.lines, lines)
		return
	}
	key := logKey{lines, g.Key()[strings.LastIndexByte(g.Key(), ']')+1:]}
	k.job.mu.Lock()
	defer k.job.mu.Unlock()
	if k.logs[key] == nil {
		k.logs[key] = &groupLog{kind: k, logKey: key, sends: channels{}, takes: channels{}}
		k.moved()
	}
	m.log = k.logs[key]
}

// LinesOf returns the lines that g was bound to, or nil.
func (k *Kind) LinesOf(g *comm.Group) *Lines {
	if m, ok := g.Transport().(*member); ok && m.log != nil {
		return m.log.lines
	}
	return nil
}

// Same reports whether a and b say the same of the stand-in, an observation.
func (k *Kind) Same(a, b *Lines) bool {
	return a == b || Ask(k, func(rank int) bool { return slices.Equal(a.List(rank), b.List(rank)) })
}

// Member reports whether the stand-in is in its list, an observation.
func (k *Kind) Member(l *Lines) bool {
	return Ask(k, func(rank int) bool { return l.Place(rank) >= 0 })
}

// bound returns the log of m.
func (m *member) bound() *groupLog {
	if m.log == nil {
		k := m.job.KindOf(m.endpoint.Rank())
		lines := m.job.Constant(m.group.Members())
		k.Member(lines)
		k.Bind(m.group, lines)
	}
	return m.log
}

// logOf returns the log of k in which rank, of k, is in the group that key has for it. The caller
// holds mu.
func (k *Kind) logOf(key logKey, rank int) *groupLog {
	if known := k.logs[key]; known != nil {
		return known
	}
	for of, other := range k.logs {
		if of.instance == key.instance && slices.Equal(of.lines.List(rank), key.lines.List(rank)) {
			return other
		}
	}
	return nil
}
