package alike

import "slices"

// A Peer is the member that a rank sends to, or receives from.
type Peer struct {
	Place int                // of the stand-in's, in its group; -1 of a channel that is none of its own
	Of    func(rank int) int // likewise of each rank of the kind, a pure function; nil: Place for all
}

// at returns the place of the member that rank sends to, or receives from.
func (p Peer) at(rank int) int {
	if p.Of == nil {
		return p.Place
	}
	return p.Of(rank)
}

// A channel is the messages with one tag that each rank of a kind sends to its peer, or receives from it.
type channel struct {
	Peer
	made int // messages that the stand-in has sent or received

	sent     []envelope // of a channel that sends: those that the kind has sent, or that it was told apart from
	promised int        // the last of these, which it will send: see wave
	origins  origins    // of one that receives
}

// channels are those of one direction in a group, by tag. No rank has two to one place.
type channels map[int][]*channel

// channel returns that of messages with tag to or from p, which may be new. Ranks that have used others for
// them are told apart.
func (k *Kind) channel(all channels, p Peer, tag int) *channel {
	list := all[tag]
	own := all.ownTo(p.Place, tag)
	if p.Of != nil || slices.ContainsFunc(list, func(l *channel) bool { return l.Of != nil }) {
		Ask(k, func(rank int) int {
			place := p.at(rank)
			if own != nil && own.at(rank) == place {
				return slices.Index(list, own)
			}
			return slices.IndexFunc(list, func(l *channel) bool { return l.at(rank) == place })
		})
	}
	if own != nil {
		return own
	}
	l := &channel{Peer: p}
	k.job.mu.Lock()
	defer k.job.mu.Unlock()
	all[tag] = append(all[tag], l)
	return l
}

// ownTo returns the stand-in's of messages with tag to or from place, nil if there is none.
func (all channels) ownTo(place, tag int) *channel {
	for _, l := range all[tag] {
		if l.Place == place {
			return l
		}
	}
	return nil
}

// inherited returns channels that send, for k, whose ranks are told apart.
func (all channels) inherited(k *Kind) channels {
	out := channels{}
	for tag, list := range all {
		for _, l := range list {
			if !l.idle(k.members) {
				out[tag] = append(out[tag], &channel{Peer: Peer{l.at(k.Rank()), l.Of}, sent: slices.Clip(l.sent), promised: l.promised})
			}
		}
	}
	return out
}

// idle reports whether none of ranks sends by l, which others do that were of their kind.
func (l *channel) idle(ranks []int32) bool {
	return !slices.ContainsFunc(ranks, func(r int32) bool { return l.at(int(r)) >= 0 })
}

// leave drops channels by which none of ranks sends, which are left in their kind.
func (all channels) leave(ranks []int32) {
	for tag, list := range all {
		all[tag] = slices.DeleteFunc(list, func(l *channel) bool { return l.idle(ranks) })
	}
}

// behind reports whether the stand-in has yet to send again messages of channels.
func (all channels) behind() bool {
	for _, list := range all {
		if slices.ContainsFunc(list, func(l *channel) bool { return l.made < len(l.sent)-l.promised }) {
			return true
		}
	}
	return false
}

// promised counts the messages that are promised.
func (all channels) promised() (n int) {
	for _, list := range all {
		for _, l := range list {
			n += l.promised
		}
	}
	return n
}

// of returns the channel by which rank sends to place, or receives from it; nil if there is none. The
// caller holds mu. guess is one that it may be.
func (all channels) of(rank, place, tag int, guess *channel) *channel {
	if guess != nil && guess.at(rank) == place {
		return guess
	}
	for _, l := range all[tag] {
		if l.at(rank) == place {
			return l
		}
	}
	return nil
}
