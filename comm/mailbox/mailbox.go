package mailbox

import (
	"bytes"
	"sync"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A Box holds the messages that were sent to one rank and that it has not
// received.
type Box struct {
	mu      sync.Mutex
	queues  map[Key][]Envelope
	wakeKey Key        // of the receive that waits, if one does
	wake    func()     // that wakes it; nil if none waits
	posted  postedRecv // for the message that it waits for
}

// A postedRecv is where the Data of a message are to be read to.
type postedRecv struct {
	Key      Key
	allocate comm.Allocate // nil if no message is expected
	Asked    bool          // whether place has been called
	Memory   []byte        // that it has returned
	Err      error
}

// A Key is all that a receive asks for: for example, recv(src=2, tag=5) in a group asks for
// its number, 2 and 5.
type Key struct {
	Group uint64
	Src   int
	Tag   int
}

// An Envelope is a message on its way.
type Envelope struct {
	Message  comm.Message
	Where    string // of the Send
	Group    string // its name
	Src, Dst int    // ranks of the fabric
	Remote   any    // a stand-in for Data that are still with the sender, nil if they are here
}

// Put adds l to the queue of key, and wakes the receive that waits for it.
func (b *Box) Put(key Key, l Envelope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queues == nil {
		b.queues = map[Key][]Envelope{}
	}
	b.queues[key] = append(b.queues[key], l)
	if b.wake != nil && b.wakeKey == key {
		b.wake()
	}
}

// TakeMessage removes the first message of the queue of key.
func (b *Box) TakeMessage(key Key) (Envelope, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queues[key]
	if len(queue) == 0 {
		return Envelope{}, false
	}
	first := queue[0]
	queue[0] = Envelope{}
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

// Has reports whether there is a message in the queue of key.
func (b *Box) Has(key Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queues[key]) > 0
}

// WakeFor has put call wake, which does not block, when it adds a message to the
// queue of key; a nil wake ends that.
func (b *Box) WakeFor(key Key, wake func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wakeKey, b.wake = key, wake
}

// Post has room ask p for the next message of key.
func (b *Box) Post(key Key, p comm.Allocate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posted = postedRecv{Key: key, allocate: p}
}

// Allocate returns memory for the n bytes of Data of a message of which the rest is m,
// nil if it is not expected or has no place.
func (b *Box) Allocate(key Key, m *comm.Message, n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &b.posted
	if e.allocate == nil || e.Asked || e.Key != key || len(b.queues[key]) > 0 {
		return nil
	}
	e.Asked = true
	e.Memory, e.Err = e.allocate.Memory(m.Meta, n)
	return e.Memory
}

// TakePosted returns the state of the posted receive, and ends it.
func (b *Box) TakePosted() postedRecv {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.posted
	b.posted = postedRecv{}
	return e
}

// DetachFrom has a message of key have memory of its own, if Data are at memory.
func (b *Box) DetachFrom(key Key, memory []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.queues[key] {
		if m := &b.queues[key][i].Message; schedule.SameMemory(m.Data, memory) {
			m.Data = bytes.Clone(m.Data)
		}
	}
}

// Unreceived returns the messages that are left, in order within each queue.
func (b *Box) Unreceived() []comm.Unreceived {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []comm.Unreceived
	for key, queue := range b.queues {
		for _, l := range queue {
			all = append(all, comm.Unreceived{Src: l.Src, Dst: l.Dst, Group: l.Group, Tag: key.Tag, Where: l.Where})
		}
	}
	return all
}
