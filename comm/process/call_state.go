package process

import (
	"bytes"
	"errors"
	"sync/atomic"

	"tpsh/comm"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// A callState is a collective of which something is known at a rank.
type callState struct {
	contracts   []wire.Contract    // by rank of the fabric, as are the next three
	here        []bool             // whether there is a contract
	small       [][]byte           // memory for the data of contracts that are transient
	descs       []*comm.SignedCall // nil if none has come
	count       atomic.Int32       // of contracts; written under wireRank.mu
	data        []datum
	recvBuffers []recvBuffer // where data are to be read to; guarded by wireRank.mu
	verdict     *comm.DeadlockError
	leftOut     bool         // whether this rank has left the call out
	hops        contractHops // of a relay
	toEach      atomic.Bool  // whether a contract has come by itself that might have been relayed
	spare       *wire.BufferPool
	site        func() callSite // where this rank is in the call, once it has called
}

// A datum is a run of bytes that one rank has sent to another in a collective.
type datum struct {
	dataKey
	bytes []byte
	away  bool // whether the bytes are memory of the member's blocks
}

// A recvBuffer is memory for data that have not come.
type recvBuffer struct {
	dataKey
	memory  []byte
	away    bool // whether it is part of the member's blocks
	started bool // whether data have begun to come to it
	full    bool // whether they are there
}

// A dataKey names a datum in a collective.
type dataKey struct{ source, tag int }

func newCallState(size int, spare *wire.BufferPool) *callState {
	return &callState{spare: spare, contracts: make([]wire.Contract, size), here: make([]bool, size), small: make([][]byte, size)}
}

// reset makes call as good as new.
func (call *callState) reset() {
	for _, d := range call.data {
		if !d.away {
			call.spare.Put(d.bytes)
		}
	}
	clear(call.recvBuffers)
	clear(call.here)
	clear(call.contracts)
	clear(call.data)
	call.recvBuffers = call.recvBuffers[:0]
	call.descs, call.data, call.verdict, call.leftOut, call.site = nil, call.data[:0], nil, false, nil
	call.count.Store(0)
	call.hops.drop(call.spare)
	call.toEach.Store(false)
}

// sign takes in the contract of a rank.
func (call *callState) sign(peer int, f *wire.Frame) error {
	if call.here[peer] {
		return errTwice
	}
	c := &call.contracts[peer]
	if err := c.Decode(f.Payload); err != nil {
		return err
	}
	if f.Transient {
		c.Meta = bytes.Clone(c.Meta)
		call.small[peer] = append(call.small[peer][:0], c.Data...)
		c.Data = call.small[peer]
	}
	call.here[peer] = true
	call.count.Add(1)
	return nil
}

// signRelayed takes in contracts where those of a group are relayed.
func (call *callState) signRelayed(peer int, f *wire.Frame) error {
	if f.Step != toEach {
		return call.hops.put(f, call.spare)
	}
	call.toEach.Store(true)
	if call.here[peer] { // it has come by a relay, too
		return nil
	}
	return call.sign(peer, f)
}

// carried returns the data that have been sent under key with a contract. When the contract
// is known to be there, wireRank.mu need not be held.
func (call *callState) carried(key dataKey) ([]byte, bool) {
	if c := &call.contracts[key.source]; c.First == key.tag+1 {
		return c.Data, true
	}
	return nil, false
}

// find returns the data that have been sent under key.
func (call *callState) find(key dataKey) ([]byte, bool) {
	if data, there := call.carried(key); there {
		return data, true
	}
	for i := range call.data {
		if call.data[i].dataKey == key {
			return call.data[i].bytes, true
		}
	}
	return nil, false
}

// put takes in data.
func (call *callState) put(key dataKey, f *wire.Frame) error {
	if _, twice := call.find(key); twice {
		return errTwice
	}
	d := datum{dataKey: key, bytes: f.Payload}
	if f.Transient {
		d.bytes = append(call.spare.Get(len(d.bytes)), d.bytes...)
	}
	for i := range call.recvBuffers {
		if b := &call.recvBuffers[i]; b.started && b.dataKey == key && schedule.SameMemory(b.memory, d.bytes) {
			b.full, d.away = true, b.away
		}
	}
	call.data = append(call.data, d)
	return nil
}

// startRecvBuffer returns the memory for data of so many bytes, nil if there is none. It
// does so once.
func (call *callState) startRecvBuffer(key dataKey, length int) []byte {
	for i := range call.recvBuffers {
		if b := &call.recvBuffers[i]; !b.started && b.dataKey == key && len(b.memory) == length {
			b.started = true
			return b.memory
		}
	}
	return nil
}

var errTwice = errors.New("frame: the same of one call came twice")

// A callSite is where a rank is: its call and its line.
type callSite struct{ function, text, where string }
