package alike

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tpsh/comm"
)

// Send implements comm.GroupTransport. Of the data the length counts.
func (m *member) Send(dst, tag int, msg comm.Message, where string) error {
	return m.send(Peer{Place: dst}, tag, msg, where)
}

// Send is g.Send to a member that ranks do not have in common.
func Send(g *comm.Group, to Peer, tag int, msg comm.Message, where string) error {
	return g.Transport().(*member).send(to, tag, msg, where)
}

func (m *member) send(to Peer, tag int, msg comm.Message, where string) error {
	s, j := m.bound(), m.job
	msg.Finish()
	l := s.kind.channel(s.sends, to, tag)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failure != nil {
		return ErrEnded
	}
	n := l.made
	l.made++
	e := envelope{msg.Meta, len(msg.Data), where, j.wave}
	if n == len(l.sent) {
		l.sent = append(l.sent, e)
	} else if !e.same(&l.sent[n]) {
		j.fail(&UnlikeError{"a message"})
		return ErrEnded
	} else {
		j.kept(l, n, where)
	}
	s.kind.moved()
	return nil
}

// origins are the senders to the ranks of a kind by a channel.
type origins struct {
	all []origin
	of  []int32 // by rank of the kind, in order: of all

	version int // of the job when they were found
}

// An origin is a kind that sends, and the channel by which it does; nil if it has not yet.
type origin struct {
	kind    *Kind
	channel *channel
}

// has reports whether message n of l is there for rank, which o sends to.
func (s *groupLog) has(rank int, l *channel, o origin, n int) bool {
	if o.channel == nil || len(o.channel.sent) <= n {
		return false
	}
	w := s.kind.job.wave
	return w == nil || o.channel.sent[n].wave != w || w.before(s.lines.List(rank)[l.at(rank)], rank)
}

// lacking returns a kind that has yet to send message n of l to a rank, nil if it is there for all, and
// whether it is for some. The caller holds mu.
func (s *groupLog) lacking(from origins, l *channel, n int) (kind *Kind, some bool) {
	if !slices.ContainsFunc(from.all, func(o origin) bool {
		return o.channel == nil || len(o.channel.sent) <= n || o.channel.sent[n].wave != nil && o.channel.sent[n].wave == s.kind.job.wave
	}) {
		return nil, true
	}
	for i, rank := range s.kind.members {
		o := from.all[from.of[i]]
		if s.has(int(rank), l, o, n) {
			some = true
		} else if kind == nil {
			kind = o.kind
		}
	}
	return kind, some
}

// originsAt returns the senders to the ranks of the kind by l, of messages with tag. The caller holds mu.
func (s *groupLog) originsAt(l *channel, tag int) origins {
	version := s.kind.job.version
	if l.origins.all != nil && l.origins.version == version {
		return l.origins
	}
	found, known, whole := origins{version: version}, map[origin]int32{}, true
	var guess origin
	for _, rank := range s.kind.members {
		from := s.lines.List(int(rank))[l.at(int(rank))]
		at := origin{kind: s.kind.job.of[from]}
		if log := at.kind.logOf(s.logKey, from); log != nil {
			if guess.kind != at.kind {
				guess.channel = nil
			}
			at.channel = log.sends.of(from, s.lines.Place(int(rank)), tag, guess.channel)
		}
		guess = at
		i, ok := known[at]
		if !ok {
			i = int32(len(found.all))
			known[at] = i
			found.all = append(found.all, at)
		}
		found.of = append(found.of, i)
		whole = whole && at.channel != nil
	}
	if whole {
		l.origins = found
	}
	return found
}

// Recv implements comm.GroupTransport.
func (m *member) Recv(ctx context.Context, src, tag int, where func() string, allocate comm.Allocate) (comm.Message, error) {
	return m.recv(ctx, Peer{Place: src}, tag, where, allocate)
}

// Recv is g.RecvInto from a member that ranks do not have in common.
func Recv(ctx context.Context, g *comm.Group, from Peer, tag int, where func() string, allocate comm.Allocate) (comm.Message, error) {
	return g.Transport().(*member).recv(ctx, from, tag, where, allocate)
}

func (m *member) recv(ctx context.Context, peer Peer, tag int, where func() string, allocate comm.Allocate) (comm.Message, error) {
	s, j := m.bound(), m.job
	l := s.kind.channel(s.takes, peer, tag)
	n := l.made
	for {
		j.mu.Lock()
		from, lacks, err := m.await(ctx, l, tag, n, where)
		if err != nil {
			j.mu.Unlock()
			return comm.Message{}, err
		}
		texts := s.textsOf(from, l, n, lacks)
		ranks := s.kind.members // as from has them
		var own envelope
		if !lacks {
			own = from.all[from.of[0]].channel.sent[n]
		}
		j.mu.Unlock()
		if texts != nil {
			Ask(s.kind, func(rank int) string {
				i, _ := slices.BinarySearch(ranks, int32(rank))
				return texts[i]
			})
		}
		if !lacks {
			l.made++
			return own.message(allocate)
		}
	}
}

// textsOf returns texts that tell the ranks of the kind apart by message n of l, in order, nil if nothing
// does: by how it arrives or, where some lack it, by whether they do. The caller holds mu.
func (s *groupLog) textsOf(from origins, l *channel, n int, lacks bool) []string {
	if !lacks {
		first := &from.all[0].channel.sent[n]
		if !slices.ContainsFunc(from.all, func(o origin) bool { return !o.channel.sent[n].same(first) }) {
			return nil
		}
	}
	texts := make([]string, len(s.kind.members))
	for i, rank := range s.kind.members {
		switch o := from.all[from.of[i]]; {
		case !lacks:
			texts[i] = string(o.channel.sent[n].meta)
		case !s.has(int(rank), l, o, n):
			texts[i] = fmt.Sprint(rank) // it may have to wait for another that does
		}
	}
	return texts
}

// await waits until message n of l is there for every rank of the kind, or for some that the others wait
// for in turn. If neither will ever be so, lacks says that it is there for some. The caller holds mu.
func (m *member) await(ctx context.Context, l *channel, tag, n int, where func() string) (from origins, lacks bool, err error) {
	s := m.log
	for {
		from = s.originsAt(l, tag)
		missing, _ := s.lacking(from, l, n)
		if missing == nil {
			return from, false, nil
		}
		w := &waiting{function: comm.RecvName, text: comm.RecvText(l.Place, tag) + comm.InGroup(m.group.String()), missing: func() int { return m.group.Members()[l.Place] },
			where: func() string { return m.endpoint.SourceLine(where) },
			divided: func() bool {
				_, some := s.lacking(s.originsAt(l, tag), l, n)
				return some
			}}
		if l.Of != nil {
			w.each = func(rank int) (string, int) {
				place, in := l.at(rank), comm.InGroup(m.group.String())
				if in != "" { // not all ranks
					in = comm.InGroup(groupName(s, rank))
				}
				return comm.RecvText(place, tag) + in, s.lines.List(rank)[place]
			}
		}
		missing.watchers = append(missing.watchers, s.kind.resume)
		if err := s.kind.wait(ctx, w); err != nil {
			return from, false, err
		}
		if w.divides && !s.promise(l, tag, n) {
			if m.job.wave != nil {
				m.job.fail(&UnlikeError{"ranks that wait in turn"})
				return from, false, ErrEnded
			}
			return s.originsAt(l, tag), true, nil
		}
	}
}

// message returns l as it arrives.
func (l *envelope) message(allocate comm.Allocate) (comm.Message, error) {
	msg := comm.Message{Meta: l.meta}
	if allocate == nil {
		return msg, nil
	}
	var err error
	msg.Data, err = allocate.Memory(l.meta, l.size)
	return msg, err
}

// Unreceived implements comm.Transport. The programs have ended.
func (j *Job) Unreceived() []comm.Unreceived {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []comm.Unreceived
	for _, k := range j.kinds {
		for _, s := range k.logs {
			for _, tag := range slices.Sorted(maps.Keys(s.sends)) {
				for _, l := range s.sends[tag] {
					all = append(all, s.unreceived(l, tag)...)
				}
			}
		}
	}
	return all
}

// unreceived returns those of the messages of l that the stand-in's own peer has not received, or
// that of the first rank of the kind whose peer has not.
func (s *groupLog) unreceived(l *channel, tag int) (left []comm.Unreceived) {
	for _, rank := range s.kind.members {
		if l.at(int(rank)) < 0 {
			continue
		}
		to, n := s.lines.List(int(rank))[l.at(int(rank))], 0
		if other := s.kind.job.of[to].logOf(s.logKey, to); other != nil {
			if taken := other.takes.of(to, s.lines.Place(int(rank)), tag, nil); taken != nil {
				n = taken.made
			}
		}
		for _, e := range l.sent[min(n, len(l.sent)):] {
			left = append(left, comm.Unreceived{Src: int(rank), Dst: to, Group: groupName(s, int(rank)), Tag: tag, Where: e.where})
		}
		if left != nil {
			return left
		}
	}
	return nil
}

// groupName returns the name that the group of s has for rank in reports, as comm.Group has it.
func groupName(s *groupLog, rank int) string {
	list := s.lines.List(rank)
	name := "world"
	if len(list) < s.kind.job.size || !slices.IsSorted(list) || s.instance != "" {
		name = "group " + strings.ReplaceAll(fmt.Sprint(list), " ", ", ")
	}
	if s.instance != "" {
		name += " " + strconv.Quote(s.instance)
	}
	return name
}
