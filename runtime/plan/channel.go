package plan

import "slices"

// A Channel is the messages with one tag that a rank of a kind sends to one member of a group, or
// receives from it. Ranks of the kind do so at the same times, each with a member of its own.
type Channel struct {
	channelKey
	of     func(rank int) int // the place of the other, unless it is Peer for all
	joined map[int]int        // that of ranks that have joined the kind
}

// A channelKey tells the channels of a rank apart.
type channelKey struct {
	Do    Do    // Send or Recv
	Group int32 // of Kind.Groups
	Tag   int32
	Peer  int32 // the place of the other in it, of the first rank
}

func newChannel(key channelKey, of func(rank int) int) Channel {
	return Channel{channelKey: key, of: of, joined: map[int]int{}}
}

// At returns the place of the other end for a rank of the kind.
func (l *Channel) At(rank int) int {
	if place, ok := l.joined[rank]; ok {
		return place
	}
	if l.of != nil {
		return l.of(rank)
	}
	return int(l.Peer)
}

// alike returns what channels share that ranks of one kind may have.
func (l *Channel) alike() channelKey { return channelKey{Do: l.Do, Group: l.Group, Tag: l.Tag} }

// channelsAlike reports whether ranks of one kind may have a and b.
func channelsAlike(a, b Channel) bool { return a.alike() == b.alike() }

// join has l be the channel of ranks, too, which have other.
func (l *Channel) join(other *Channel, ranks []int32) {
	for _, r := range ranks {
		l.joined[int(r)] = other.At(int(r))
	}
}

// groupOf returns which of the groups of k is, of rank, the one of ranks called name; -1 if none
// is.
func (k *Kind) groupOf(rank int, ranks []int, name string) int32 {
	for i := range k.Groups {
		if k.Groups[i].instance() == instanceOf(name) && sameList(k.Groups[i].Of(rank), ranks) {
			return int32(i)
		}
	}
	return -1
}

// sends returns the channel by which a rank of k sends to place in its group, with tag; -1 if there is
// none. guess is one that it may be.
func (k *Kind) sends(rank int, group, tag int32, place, guess int) int {
	is := func(l *Channel) bool {
		return l.Do == Send && l.Group == group && l.Tag == tag && l.At(rank) == place
	}
	if guess < len(k.Channels) && is(&k.Channels[guess]) {
		return guess
	}
	for i := range k.Channels {
		if is(&k.Channels[i]) {
			return i
		}
	}
	return -1
}

// A message is a channel as one of its ranks sees it.
type message struct {
	other int // the rank that it sends to, or receives from
	from  int // of a channel that receives: the channel of the other that sends, -1 if it is not known
}

// messages returns the channels of rank.
func (p *Program) messages(rank int) []message {
	k := p.Kinds[p.KindOf[rank]]
	list := make([]message, len(k.Channels))
	for i := range k.Channels {
		l := &k.Channels[i]
		ranks := k.Groups[l.Group].Of(rank)
		m := message{other: ranks[l.At(rank)], from: -1}
		if l.Do == Recv {
			sender := p.Kinds[p.KindOf[m.other]]
			if group := sender.groupOf(m.other, ranks, k.Groups[l.Group].Name); group >= 0 {
				m.from = sender.sends(m.other, group, l.Tag, slices.Index(ranks, rank), i)
			}
		}
		list[i] = m
	}
	return list
}
