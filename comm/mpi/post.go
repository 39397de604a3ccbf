package mpi

import "fmt"

// A slot is a receive of the next message of any stream, begun before that has
// come: MPI then puts it where it belongs, and a poll asks for no more than
// whether it has.
type slot struct {
	request request
	bytes   []byte
}

// slots is how many messages may come before one is taken in without MPI having
// to keep them.
const slots = 16

// A flight is a message of a stream that is on its way.
type flight struct {
	request request
	bytes   []byte
	stream  *Stream
}

// flightsMost is how many messages are on their way before all of them are
// looked at, and not the oldest alone.
const flightsMost = 64

// openSlots begins to receive the messages of streams.
func (w *World) openSlots() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots = make([]slot, slots)
	for i := range w.slots {
		w.post(&w.slots[i])
	}
}

// post begins to receive a message to a slot. The caller holds mu.
func (w *World) post(s *slot) {
	b := w.memory.get(smallBytes)
	r, err := w.engine.listen(chat, b)
	if err != nil {
		w.fail(err)
		return
	}
	*s = slot{r, b}
}

// closeSlots ends the receives to slots, for which nothing comes any more. The caller
// holds mu.
func (w *World) closeSlots() {
	for i := range w.slots {
		if w.err == nil {
			w.engine.cancel(w.slots[i].request)
		}
		for done := false; !done && w.err == nil; {
			var err error
			if done, _, err = w.engine.test(w.slots[i].request); err != nil {
				w.fail(err)
			}
		}
	}
}

// takeAll takes in the messages in the slots, in the order in which they were
// sent. It reports whether there were any. The caller holds mu.
func (w *World) takeAll() (came bool) {
	for range atOnce {
		s := &w.slots[w.next]
		done, a, err := w.engine.test(s.request)
		if err != nil {
			w.fail(err)
			return true
		}
		if !done {
			return came
		}
		came = true
		w.take(a, s.bytes)
		if w.err != nil {
			return true
		}
		w.post(s)
		w.next = (w.next + 1) % len(w.slots)
	}
	return came
}

// take takes in a message, which is in b. The caller holds mu.
func (w *World) take(a arrival, b []byte) {
	if a.from < 0 || a.from >= w.size || a.from == w.rank || a.tag < 0 || a.tag > farewell || a.bytes < 0 || a.bytes > len(b) {
		w.fail(fmt.Errorf("mpi: got a message of rank %d with tag %d and %d bytes, want one of another rank of %d, a tag of 0..%d and at most %d bytes",
			a.from, a.tag, a.bytes, w.size, farewell, len(b)))
		return
	}
	if a.tag == farewell {
		w.farewells++
		w.memory.put(b)
		return
	}
	w.stream(streamKey{a.from, a.tag}).deliver(b[:a.bytes], !w.muted)
}

// fly sends a message of a stream, which is in memory of w, unless the world is
// closed. The caller holds mu.
func (w *World) fly(s *Stream, b []byte) error {
	err := w.err
	if w.draining && err == nil {
		err = errClosed
	}
	if err != nil {
		w.memory.put(b)
		return err
	}
	r, err := w.engine.send(chat, s.key.peer, s.key.channel, b)
	if err != nil {
		w.fail(err)
		return err
	}
	s.flying += len(b)
	w.flights = append(w.flights, flight{r, b, s})
	if len(w.flights) >= flightsMost {
		w.land(len(w.flights))
	}
	return nil
}

// land ends those of the oldest flights that have ended, and looks at no more
// than so many. It reports whether there was one. The caller holds mu.
func (w *World) land(most int) (landed bool) {
	most = min(most, len(w.flights))
	left := 0
	for i := range most {
		f := w.flights[i]
		done, _, err := w.engine.test(f.request)
		if err != nil {
			w.fail(err)
			return true
		}
		if !done {
			w.flights[left] = f
			left++
			continue
		}
		landed = true
		f.stream.flying -= len(f.bytes)
		w.memory.put(f.bytes)
	}
	if landed {
		n := left + copy(w.flights[left:], w.flights[most:])
		clear(w.flights[n:])
		w.flights = w.flights[:n]
	}
	return landed
}
