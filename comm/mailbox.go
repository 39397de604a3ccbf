package comm

import (
	"bytes"
	"cmp"
	"fmt"
	goruntime "runtime"
	"sync"
)

// A mailbox holds the messages that were sent to one rank and that it has not
// received.
type mailbox struct {
	mu     sync.Mutex
	queues map[mailKey][]letter
	waiter *waiter      // of the receive that waits, if one does
	berth  messageBerth // for what it waits for
}

// A messageBerth is where the Data of a message are to be read to.
type messageBerth struct {
	key    mailKey
	place  Place  // nil if no message is expected
	asked  bool   // whether place has been called
	memory []byte // that it has returned
	err    error
}

// A mailKey is what a receive asks for.
type mailKey struct {
	group uint64
	src   int
	tag   int
}

// A letter is a message on its way.
type letter struct {
	message  Message
	where    string // of the Send
	group    string // its name
	src, dst int    // ranks of the fabric
}

// put adds l to the queue of key, and wakes the receive that waits for it.
func (b *mailbox) put(key mailKey, l letter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queues == nil {
		b.queues = map[mailKey][]letter{}
	}
	b.queues[key] = append(b.queues[key], l)
	if b.waiter != nil && b.waiter.key == key {
		b.waiter.signal()
	}
}

// take removes the first message of the queue of key.
func (b *mailbox) take(key mailKey) (Message, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queues[key]
	if len(queue) == 0 {
		return Message{}, false
	}
	first := queue[0]
	queue[0] = letter{}
	switch {
	case len(queue) > 1:
		b.queues[key] = queue[1:]
	case len(b.queues) <= spareQueues:
		b.queues[key] = queue[:0]
	default:
		delete(b.queues, key)
	}
	return first.message, true
}

// spareQueues is how many empty queues a mailbox may keep.
const spareQueues = 64

// has reports whether there is a message in the queue of key.
func (b *mailbox) has(key mailKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queues[key]) > 0
}

// await makes w, unless it is nil, the waiter that put wakes.
func (b *mailbox) await(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiter = w
}

// expect has room ask p for the next message of key.
func (b *mailbox) expect(key mailKey, p Place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.berth = messageBerth{key: key, place: p}
}

// room returns memory for the n bytes of Data of a message of which the rest is m,
// nil if it is not expected or has no place.
func (b *mailbox) room(key mailKey, m *Message, n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &b.berth
	if e.place == nil || e.asked || e.key != key || len(b.queues[key]) > 0 {
		return nil
	}
	e.asked = true
	e.memory, e.err = m.room(e.place, n)
	return e.memory
}

// expected returns what has become of expect, and ends it.
func (b *mailbox) expected() messageBerth {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.berth
	b.berth = messageBerth{}
	return e
}

// leave has a message of key have memory of its own, if Data are at memory.
func (b *mailbox) leave(key mailKey, memory []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.queues[key] {
		if m := &b.queues[key][i].message; sameMemory(m.Data, memory) {
			m.Data = bytes.Clone(m.Data)
		}
	}
}

// unreceived returns the messages that are left, in order within each queue.
func (b *mailbox) unreceived() []Unreceived {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Unreceived
	for key, queue := range b.queues {
		for _, l := range queue {
			all = append(all, Unreceived{l.src, l.dst, l.group, key.tag, l.where})
		}
	}
	return all
}

// compareUnreceived orders messages by destination, source, group and tag.
func compareUnreceived(a, b Unreceived) int {
	return cmp.Or(
		cmp.Compare(a.Dst, b.Dst),
		cmp.Compare(a.Src, b.Src),
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Tag, b.Tag),
	)
}

// linger waits for a moment for a message, and removes it if there is one.
func (b *mailbox) linger(key mailKey, p patience) (Message, bool) {
	for range p.yields + 1 {
		if m, ok := b.take(key); ok {
			return m, true
		}
		goruntime.Gosched()
	}
	return Message{}, false
}

// recvText writes a receive as a script would.
func recvText(src, tag int) string { return fmt.Sprintf("recv(src=%d, tag=%d)", src, tag) }
