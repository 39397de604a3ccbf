package comm

import (
	"bytes"
	"sync/atomic"
)

// A wireCall is a collective of which something is known at a station.
type wireCall struct {
	contracts []contract   // by rank of the fabric, as are the next three
	here      []bool       // whether there is a contract
	small     [][]byte     // memory for the data of contracts that are lent
	descs     []*signed    // nil if none has come
	count     atomic.Int32 // of contracts; written under station.mu
	data      []datum
	verdict   *DeadlockError
	spare     *bufferPool
	place     func() place // where this rank is in the call, once it has called
}

// A datum is what one rank has sent to another in a collective.
type datum struct {
	dataKey
	bytes []byte
}

// A dataKey names what one rank sends to another in a collective.
type dataKey struct{ source, tag int }

func newWireCall(size int, spare *bufferPool) *wireCall {
	return &wireCall{spare: spare, contracts: make([]contract, size), here: make([]bool, size), small: make([][]byte, size)}
}

// reset makes call as good as new.
func (call *wireCall) reset() {
	for _, d := range call.data {
		call.spare.put(d.bytes)
	}
	clear(call.here)
	clear(call.contracts)
	clear(call.data)
	call.descs, call.data, call.verdict, call.place = nil, call.data[:0], nil, nil
	call.count.Store(0)
}

// sign takes in the contract of a rank.
func (call *wireCall) sign(peer int, f *frame) error {
	if call.here[peer] {
		return errTwice
	}
	c := &call.contracts[peer]
	if err := c.decode(f.payload); err != nil {
		return err
	}
	if f.lent {
		c.meta = bytes.Clone(c.meta)
		call.small[peer] = append(call.small[peer][:0], c.data...)
		c.data = call.small[peer]
	}
	call.here[peer] = true
	call.count.Add(1)
	return nil
}

// find returns what has been sent under key.
func (call *wireCall) find(key dataKey) ([]byte, bool) {
	if c := &call.contracts[key.source]; c.first == key.tag+1 {
		return c.data, true
	}
	for i := range call.data {
		if call.data[i].dataKey == key {
			return call.data[i].bytes, true
		}
	}
	return nil, false
}

// put takes in data.
func (call *wireCall) put(key dataKey, f *frame) error {
	if _, twice := call.find(key); twice {
		return errTwice
	}
	data := f.payload
	if f.lent {
		data = append(call.spare.get(len(data)), data...)
	}
	call.data = append(call.data, datum{key, data})
	return nil
}
