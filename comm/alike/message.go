package alike

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tpsh/comm"
)

// Send implements comm.GroupTransport. Of the data the length counts.
func (m *member) Send(dst, tag int, msg comm.Message, where string) error {
	s, j := m.bound(), m.job
	msg.Finish()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failure != nil {
		return ErrEnded
	}
	key := envelopeKey{dst, tag}
	n := s.posts[key]
	s.posts[key]++
	if n == len(s.sent[key]) {
		s.sent[key] = append(s.sent[key], envelope{msg.Meta, len(msg.Data), where})
		s.kind.moved()
	} else if was := &s.sent[key][n]; was.size != len(msg.Data) || !slices.Equal(was.meta, msg.Meta) {
		j.fail(&UnlikeError{"a message"})
		return ErrEnded
	}
	return nil
}

// origins are the senders to the ranks of a kind from one place of their groups.
type origins struct {
	all []origin
	of  []int32 // by rank of the kind, in order: of all

	version int // of the job when they were found
}

// An origin is a kind that sends, and the place that its messages go to.
type origin struct {
	log *groupLog
	to  int
}

// originsAt returns the senders at the place src. The caller holds mu.
func (s *groupLog) originsAt(src int) (found origins, lacks *Kind) {
	if known, ok := s.origins[src]; ok && known.version == s.kind.job.version {
		return known, nil
	}
	found.version = s.kind.job.version
	known := map[origin]int32{}
	for _, rank := range s.kind.members {
		from := s.lines.List(int(rank))[src]
		k := s.kind.job.of[from]
		at := origin{k.logOf(s, from), s.lines.Place(int(rank))}
		if at.log == nil {
			return origins{}, k
		}
		i, ok := known[at]
		if !ok {
			i = int32(len(found.all))
			known[at] = i
			found.all = append(found.all, at)
		}
		found.of = append(found.of, i)
	}
	if s.origins == nil {
		s.origins = map[int]origins{}
	}
	s.origins[src] = found
	return found, nil
}

// Recv implements comm.GroupTransport.
func (m *member) Recv(ctx context.Context, src, tag int, where func() string, allocate comm.Allocate) (comm.Message, error) {
	s, j := m.bound(), m.job
	key := envelopeKey{src, tag}
	n := s.taken[key]
	for {
		j.mu.Lock()
		from, err := m.await(ctx, src, tag, n, where)
		if err != nil {
			j.mu.Unlock()
			return comm.Message{}, err
		}
		envelopes := make([]*envelope, len(from.all))
		alike := true
		for i, f := range from.all {
			envelopes[i] = &f.log.sent[envelopeKey{f.to, tag}][n]
			alike = alike && slices.Equal(envelopes[i].meta, envelopes[0].meta)
		}
		ranks := s.kind.members // as from has them
		j.mu.Unlock()
		if alike {
			s.taken[key]++
			return envelopes[from.of[0]].message(allocate)
		}
		Ask(s.kind, func(rank int) string {
			i, _ := slices.BinarySearch(ranks, int32(rank))
			return string(envelopes[from.of[i]].meta)
		})
	}
}

// await waits until message n is there for every rank of the kind. The caller holds
// mu.
func (m *member) await(ctx context.Context, src, tag, n int, where func() string) (origins, error) {
	for {
		from, lacks := m.log.originsAt(src)
		for _, f := range from.all {
			if len(f.log.sent[envelopeKey{f.to, tag}]) <= n {
				lacks = f.log.kind
				break
			}
		}
		if lacks == nil {
			return from, nil
		}
		w := &waiting{function: comm.RecvName, text: comm.RecvText(src, tag) + comm.InGroup(m.group.String()), missing: []int{m.group.Members()[src]},
			where: func() string { return m.endpoint.SourceLine(where) }}
		if err := m.log.kind.wait(ctx, lacks, w); err != nil {
			return origins{}, err
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
			for key, list := range s.sent {
				all = append(all, s.unreceived(key, list)...)
			}
		}
	}
	return all
}

// unreceived returns those of the messages of list that the stand-in's own peer has
// not received, or that of the first rank of the kind whose peer has not.
func (s *groupLog) unreceived(key envelopeKey, list []envelope) (left []comm.Unreceived) {
	for _, rank := range s.kind.members {
		to := s.lines.List(int(rank))[key.place]
		n := 0
		if other := s.kind.job.of[to].logOf(s, to); other != nil {
			n = other.taken[envelopeKey{s.lines.Place(int(rank)), key.tag}]
		}
		for _, l := range list[min(n, len(list)):] {
			left = append(left, comm.Unreceived{Src: int(rank), Dst: to, Group: groupName(s), Tag: key.tag, Where: l.where})
		}
		if left != nil {
			return left
		}
	}
	return nil
}

// groupName returns the name of the group of s in reports, as comm.Group has it.
func groupName(s *groupLog) string {
	list := s.lines.List(s.kind.Rank())
	name := "world"
	if len(list) < s.kind.job.size || !slices.IsSorted(list) || s.instance != "" {
		name = "group " + strings.ReplaceAll(fmt.Sprint(list), " ", ", ")
	}
	if s.instance != "" {
		name += " " + strconv.Quote(s.instance)
	}
	return name
}
