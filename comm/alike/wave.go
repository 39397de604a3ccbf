package alike

import "slices"

// A wave goes through ranks of a kind that wait for each other in turn: each receives a message of the
// one before it, does the same as that one, and sends the like to the next, as the stages of a pipeline do.
// The kind goes on as if all had received the message that the first of them have. That they send it on is
// then a promise, which the kind keeps when it comes to send, or else the evaluation has failed.
//
// While a promise is open nothing may hang on a rank that comes later in the wave, or ranks would seem to go
// on that wait for ever: a rank receives only from ranks before it, or outside; ranks meet in calls only if
// they are as far from the beginning, or outside. All others wait until the wave is over. So in the order of
// depth, and at one depth in that of time, each step hangs on steps before it alone.
type wave struct {
	depth map[int]int // of each rank in it: how many there are before it
}

// before reports whether from is before to in w, or outside.
func (w *wave) before(from, to int) bool {
	a, within := w.depth[from]
	b, ok := w.depth[to]
	return !within || ok && a < b
}

// crosses reports whether w comes to ranks at different times.
func (w *wave) crosses(ranks []int) bool {
	first, within := w.depth[ranks[0]]
	return slices.ContainsFunc(ranks, func(r int) bool {
		d, ok := w.depth[r]
		return ok != within || d != first
	})
}

// promise has the kind go on that waits for message n of l, with tag, if some of its ranks have it and
// the others wait for these, in turn. It reports whether it does. The caller holds mu.
func (s *groupLog) promise(l *channel, tag, n int) bool {
	k, j := s.kind, s.kind.job
	from := s.originsAt(l, tag)
	var (
		have   *envelope
		by     *channel // by which the kind sends to those that wait
		before = map[int]int{}
		to     = slices.Repeat([]int{-1}, j.size)
	)
	for i, r := range k.members {
		rank, o := int(r), from.all[from.of[i]]
		if s.has(rank, l, o, n) {
			if e := &o.channel.sent[n]; have == nil {
				have = e
			} else if !e.same(have) {
				return false
			}
			continue
		}
		sender := s.lines.List(rank)[l.at(rank)]
		if o.kind != k || len(before) > 0 && o.channel != by || to[sender] >= 0 {
			return false
		}
		before[rank], by, to[sender] = sender, o.channel, s.lines.Place(rank)
	}
	if have == nil || by != nil && len(by.sent) != n || by == nil && n > 0 || !j.joins(k, before) {
		return false
	}
	if by == nil {
		by = &channel{Peer: Peer{to[k.Rank()], func(rank int) int { return to[rank] }}}
		s.sends[tag] = append(s.sends[tag], by)
	}
	by.sent = append(by.sent, envelope{meta: have.meta, size: have.size, where: have.where, wave: j.wave})
	by.promised++
	return true
}

// joins reports whether ranks of k, each of which waits for another, before, can go on in the wave that is
// under way, or begin one. The caller holds mu.
func (j *Job) joins(k *Kind, before map[int]int) bool {
	if j.wave != nil {
		for rank, sender := range before {
			if _, within := j.wave.depth[sender]; !within || !j.wave.before(sender, rank) {
				return false
			}
		}
		return true
	}
	depth := map[int]int{}
	for _, r := range k.members {
		if _, waits := before[int(r)]; !waits {
			depth[int(r)] = 0
		}
	}
	for _, r := range k.members {
		var chain []int
		at := int(r)
		for {
			if _, known := depth[at]; known {
				break
			}
			if chain = append(chain, at); len(chain) > len(before) {
				return false // they wait for each other
			}
			at = before[at]
		}
		for i, rank := range slices.Backward(chain) {
			depth[rank] = depth[at] + len(chain) - i
		}
	}
	j.wave = &wave{depth: depth}
	return true
}

// kept notes that the stand-in has sent message n of l, which may have been promised. The caller holds mu.
func (j *Job) kept(l *channel, n int, where string) {
	if n < len(l.sent)-l.promised {
		return
	}
	l.sent[n].where = where
	l.promised--
	j.endWave()
}

// endWave ends the wave under way if all promises are kept. The caller holds mu.
func (j *Job) endWave() {
	if j.wave == nil {
		return
	}
	for _, k := range j.kinds {
		for _, s := range k.logs {
			if s.sends.promised() > 0 {
				return
			}
		}
	}
	j.wave = nil
	for _, k := range j.kinds {
		k.resume()
	}
}
