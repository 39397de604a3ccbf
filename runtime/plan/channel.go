package plan

import "slices"

// A Channel is the messages with one tag that a rank of a kind sends to one member of a group, or
// receives from it. Ranks of the kind do so at the same times, each with a member of its own.
type Channel struct {
	channelKey
	placeOf func(rank int) int // of the other; nil: Peer for all
	joined  map[int]int        // the places of the others of ranks that have joined the kind
}

// A channelKey tells the channels of a rank apart.
type channelKey struct {
	Do    Do    // Send or Recv
	Group int32 // of Kind.Groups
	Tag   int32
	Peer  int32 // the place of the other in it, of the first rank
}

func newChannel(key channelKey, placeOf func(rank int) int) Channel {
	return Channel{channelKey: key, placeOf: placeOf, joined: map[int]int{}}
}

// At returns the place of the other end for a rank of the kind.
func (c *Channel) At(rank int) int {
	if place, ok := c.joined[rank]; ok {
		return place
	}
	if c.placeOf != nil {
		return c.placeOf(rank)
	}
	return int(c.Peer)
}

// alike returns what channels share that ranks of one kind may have.
func (c *Channel) alike() channelKey { return channelKey{Do: c.Do, Group: c.Group, Tag: c.Tag} }

// channelsAlike reports whether ranks of one kind may have a and b.
func channelsAlike(a, b Channel) bool { return a.alike() == b.alike() }

// join has c be the channel of ranks, too, which have other.
func (c *Channel) join(other *Channel, ranks []int32) {
	for _, r := range ranks {
		c.joined[int(r)] = other.At(int(r))
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
	is := func(c *Channel) bool {
		return c.Do == Send && c.Group == group && c.Tag == tag && c.At(rank) == place
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
		c := &k.Channels[i]
		ranks := k.Groups[c.Group].Of(rank)
		m := message{other: ranks[c.At(rank)], from: -1}
		if c.Do == Recv {
			sender := p.Kinds[p.KindOf[m.other]]
			if group := sender.groupOf(m.other, ranks, k.Groups[c.Group].Name); group >= 0 {
				m.from = sender.sends(m.other, group, c.Tag, slices.Index(ranks, rank), i)
			}
		}
		list[i] = m
	}
	return list
}
