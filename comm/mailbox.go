package comm

import (
	"bytes"
	"sync"

	"tpsh/comm/schedule"
)

// A mailbox holds the messages that were sent to one rank and that it has not
// received.
type mailbox struct {
	mu      sync.Mutex
	queues  map[matchKey][]envelope
	wakeKey matchKey   // of the receive that waits, if one does
	wake    func()     // that wakes it; nil if none waits
	posted  postedRecv // for what it waits for
}

// A postedRecv is where the Data of a message are to be read to.
type postedRecv struct {
	key      matchKey
	allocate Allocate // nil if no message is expected
	asked    bool     // whether place has been called
	memory   []byte   // that it has returned
	err      error
}

// A matchKey is what a receive asks for.
type matchKey struct {
	group uint64
	src   int
	tag   int
}

// An envelope is a message on its way.
type envelope struct {
	message  Message
	where    string // of the Send
	group    string // its name
	src, dst int    // ranks of the fabric
	remote   any    // what stands for Data that are still with the sender, nil if they are here
}

// put adds l to the queue of key, and wakes the receive that waits for it.
func (b *mailbox) put(key matchKey, l envelope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queues == nil {
		b.queues = map[matchKey][]envelope{}
	}
	b.queues[key] = append(b.queues[key], l)
	if b.wake != nil && b.wakeKey == key {
		b.wake()
	}
}

// takeMessage removes the first message of the queue of key.
func (b *mailbox) takeMessage(key matchKey) (envelope, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queues[key]
	if len(queue) == 0 {
		return envelope{}, false
	}
	first := queue[0]
	queue[0] = envelope{}
	switch {
	case len(queue) > 1:
		b.queues[key] = queue[1:]
	case len(b.queues) <= spareQueues:
		b.queues[key] = queue[:0]
	default:
		delete(b.queues, key)
	}
	return first, true
}

// spareQueues is how many empty queues a mailbox may keep.
const spareQueues = 64

// has reports whether there is a message in the queue of key.
func (b *mailbox) has(key matchKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queues[key]) > 0
}

// wakeFor has put call wake, which does not block, when it adds a message to the
// queue of key; a nil wake ends that.
func (b *mailbox) wakeFor(key matchKey, wake func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wakeKey, b.wake = key, wake
}

// post has room ask p for the next message of key.
func (b *mailbox) post(key matchKey, p Allocate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posted = postedRecv{key: key, allocate: p}
}

// allocate returns memory for the n bytes of Data of a message of which the rest is m,
// nil if it is not expected or has no place.
func (b *mailbox) allocate(key matchKey, m *Message, n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &b.posted
	if e.allocate == nil || e.asked || e.key != key || len(b.queues[key]) > 0 {
		return nil
	}
	e.asked = true
	e.memory, e.err = e.allocate.Memory(m.Meta, n)
	return e.memory
}

// takePosted returns what has become of expect, and ends it.
func (b *mailbox) takePosted() postedRecv {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.posted
	b.posted = postedRecv{}
	return e
}

// detachFrom has a message of key have memory of its own, if Data are at memory.
func (b *mailbox) detachFrom(key matchKey, memory []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.queues[key] {
		if m := &b.queues[key][i].message; schedule.SameMemory(m.Data, memory) {
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
