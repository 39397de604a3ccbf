package comm

import "slices"

// leastBerth is the length from which data get a berth.
const leastBerth = leastPlaced

// berth returns the memory for the data of which the first frame comes from a
// participant, nil if nobody has asked for them.
func (st *station) berth(peer int, f *frame) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	call := st.known(callKey{f.group, f.call})
	if call == nil {
		return nil
	}
	return call.berth(dataKey{peer, f.step}, f.rest)
}

// room returns the memory for the Data of a message that follow its head, which is
// all that f holds: where the receive wants them that waits for it, if one does.
func (st *station) room(peer int, f *frame) []byte {
	n := f.rest - len(f.payload)
	if n < leastBerth {
		return nil
	}
	l, err := decodeLetter(f.payload)
	if err != nil || len(l.message.Data) > 0 {
		return nil // it is not all of the head, or more than that
	}
	return st.box.room(mailKey{f.group, peer, f.tag}, &l.message, n)
}

// expectMessage lets the next message of key be read to where p says, if it comes
// through what can be looked at. No other may be expected.
func (st *station) expectMessage(key mailKey, p Place) {
	if p != nil && st.placesOf(key.src) {
		st.box.expect(key, p)
	}
}

// abandonMessage sees to it that nothing is read any more to the memory of a
// message that was expected, and that it stays the rank's if all has come.
func (st *station) abandonMessage() {
	if b := st.box.expected(); b.memory != nil {
		st.withdraw(b.key.src, b.memory)
		st.box.leave(b.key, b.memory)
	}
}

// places reports whether what some ranks send can be read to where it belongs,
// and placesOf whether what a rank sends can.
func (st *station) places() bool { return st.cables != nil || st.polled != nil }

func (st *station) placesOf(rank int) bool {
	return st.cables != nil && st.cables.by[rank] != nil || st.polled != nil && st.sockets[rank] != nil
}

// expectAll makes berths for what the steps receive of n pieces: for all of what
// goes to the member's blocks, and for the first piece of what is reduced.
func (c *messageCall) expectAll(steps []step, n int) {
	if !c.line.station.places() {
		return
	}
	for piece := range n {
		c.expect(steps, piece, memOut)
	}
	c.expect(steps, 0, memSlot)
}

// expect makes berths for what the steps receive of a piece to a kind of memory,
// if it comes through cables.
func (c *messageCall) expect(steps []step, piece int, mem memory) {
	st := c.line.station
	if !st.places() {
		return
	}
	defer func(current int) { c.current = current }(c.current)
	c.current = piece
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, s := range steps {
		if s.do != doRecv || s.dst[0].mem != mem || piece > 0 && piece >= c.piecesIn(s) {
			continue
		}
		key := c.dataKey(s)
		if _, there := c.call.find(key); there || !st.placesOf(key.source) {
			continue
		}
		if memory, away := c.berthFor(s, steps); memory != nil {
			c.call.berths = append(c.call.berths, berth{dataKey: key, memory: memory, away: away})
		}
	}
}

// berthFor returns the memory for what a step receives, nil if it is not worth
// it, and whether that is part of the member's blocks.
func (c *messageCall) berthFor(s step, steps []step) (memory []byte, away bool) {
	if s.dst[0].mem == memSlot {
		if n := c.slotLen(s.dst[0], steps); n >= leastBerth {
			memory = c.line.station.pool.get(n)[:n]
		}
		return memory, false
	}
	to := c.span(s.dst[0])
	if to.len() < leastBerth {
		return nil, false
	}
	if memory = to.run(0); len(memory) < to.len() {
		return nil, false
	}
	return memory, true
}

// slotLen returns the length of what is received to a slot: that of the member's
// own part with which it is reduced, 0 if it is not.
func (c *messageCall) slotLen(slot part, steps []step) int {
	for _, s := range steps {
		if s.do != doReduce || !slices.Contains(s.src, slot) {
			continue
		}
		for _, p := range s.src {
			if p.mem != memSlot {
				return c.span(p).len()
			}
		}
	}
	return 0
}

// abandonBerths sees to it that nothing is read to the member's blocks any more.
// A call that has failed may end before all has come that was on its way.
func (c *messageCall) abandonBerths() {
	st := c.line.station
	var open []berth
	st.mu.Lock()
	for i := range c.call.berths {
		b := &c.call.berths[i]
		if b.taken && !b.full {
			open = append(open, *b)
		}
		b.taken = true
	}
	st.mu.Unlock()
	for _, b := range open {
		st.withdraw(b.source, b.memory)
	}
}

// withdraw sees to it that nothing of what a rank sends is read to memory any more.
func (st *station) withdraw(rank int, memory []byte) {
	if st.polled != nil {
		st.polled.release(st.sockets[rank], memory)
	} else {
		st.cables.by[rank].release(memory)
	}
}
