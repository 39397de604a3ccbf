package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/process/shm"
	"tpsh/comm/wire"
)

// The data of a long message are exposed, where the receiver can read the sender's
// memory: the record in the ring says where they are, and the receiver reads them
// from there to where they belong. The sender keeps them meanwhile, and goes on.
//
// An exposure ends when the receiver has read, which it says with a record that is
// taken in as all others are; when the receiver has ended; and with the
// generation. A receiver that reads data that are not exposed any more finds out when it
// has read, by the generation that the sender is in.

// leastExposed is the length from which the data of a message are exposed: below,
// having the system find their pages costs more than the copies do.
const leastExposed = 128 << 10

// Types of records that are of no use on streams.
const (
	// recordExposure carries the fields of wire.FrameMessage, but for the data: where they are
	// in the sender's memory.
	recordExposure wire.FrameType = 128 + iota
	// recordReleased carries nothing: it says that an exposure, of which call is the
	// number, has ended.
	recordReleased
)

// exposures are the data that a rank has exposed with its messages.
type exposures struct {
	mu   sync.Mutex
	last uint64              // number of the last exposure
	open map[uint64]exposure // by number
}

// An exposure is a message of which the receiver may yet read the data.
type exposure struct {
	to      int // a rank of the fabric
	message comm.Message
}

// add begins an exposure to a rank, and returns its number, which is not 0.
func (x *exposures) add(to int, m comm.Message) uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open == nil {
		x.open = map[uint64]exposure{}
	}
	x.last++
	x.open[x.last] = exposure{to, m}
	return x.last
}

// end ends an exposure to a rank, if it has not ended.
func (x *exposures) end(to int, number uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if open, ok := x.open[number]; ok && open.to == to {
		delete(x.open, number)
		open.message.Finish()
	}
}

// endTo ends all exposures to a rank.
func (x *exposures) endTo(to int) { x.endThose(func(open exposure) bool { return open.to == to }) }

// endAll ends all exposures.
func (x *exposures) endAll() { x.endThose(func(exposure) bool { return true }) }

// endThose ends the exposures for which ends reports true.
func (x *exposures) endThose(ends func(exposure) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for number, open := range x.open {
		if ends(open) {
			delete(x.open, number)
			open.message.Finish()
		}
	}
}

// expose sends a message to a rank that can read this one's memory, without its
// data. It reports false if it has sent nothing.
func (wr *wireRank) expose(to int, f wire.Frame, head []byte, m comm.Message) bool {
	sl := wr.shared
	if len(m.Data) < leastExposed || !sl.reaches(to) {
		return false
	}
	if sl.segment.Reads(sl.indexes[wr.rank], sl.indexes[to]).Load() != shm.Readable {
		return false
	}
	if sl.waiting() {
		sl.drain(wr) // some may have returned data that were exposed before
	}
	if wr.meter != nil {
		wr.meter.memory.Add(int64(len(m.Data)))
	}
	f.Type = recordExposure
	b := remoteData{
		number:  wr.exposures.add(to, m),
		address: shm.AddressOf(m.Data),
		length:  len(m.Data),
	}
	wr.writeParts(to, f, head, b.append(nil))
	return true
}

// takeExposure takes in a record on data that are exposed.
func (wr *wireRank) takeExposure(peer int, f *wire.Frame) error {
	if f.Type == recordReleased {
		wr.exposures.end(peer, f.Call)
		return nil
	}
	e, err := wire.DecodeEnvelope(bytes.Clone(f.Payload))
	if err != nil {
		return err
	}
	remote, err := decodeRemoteData(e.Message.Data)
	if err != nil {
		return err
	}
	remote.wireRank, remote.from = wr, peer
	e.Message.Data, e.Remote = nil, remote
	return wr.deliver(peer, f, e)
}

// A remoteData tells a receiver where data are that are exposed to it.
type remoteData struct {
	wireRank *wireRank // the receiver's
	from     int       // a rank of the fabric
	number   uint64    // of the exposure
	address  uintptr
	length   int
}

// append appends the number, the address and the length to buf.
func (b *remoteData) append(buf []byte) []byte {
	buf = binary.LittleEndian.AppendUint64(buf, b.number)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(b.address))
	return wire.AppendInt(buf, b.length)
}

// decodeRemoteData is the inverse of append, and refuses all other bytes.
func decodeRemoteData(data []byte) (*remoteData, error) {
	d := wire.Decoder{Rest: data}
	b := &remoteData{number: d.Uint64(), address: uintptr(d.Uint64()), length: d.Size()}
	if b.length > wire.MaxMessage {
		d.Fail("length", fmt.Sprint(b.length), fmt.Sprintf("at most %d", wire.MaxMessage))
	}
	return b, d.End("exposure")
}

// errWithdrawn is the error of reading data that are not exposed any more.
var errWithdrawn = errors.New("it no longer exposes what it has sent")

// read reads all that is exposed to dst, which has its length.
func (b *remoteData) read(dst []byte) error {
	sl := b.wireRank.shared
	index := sl.indexes[b.from]
	if err := shm.ReadMemory(sl.segment.Process(index), dst, b.address); err != nil {
		return err
	}
	if sl.segment.ExposesIn(index).Load() != shm.ExposureGeneration(b.wireRank.number) {
		return errWithdrawn
	}
	return nil
}

// reportUnreadable has the supervisor give a rank up that has exposed data that cannot be read,
// even if it has ended in good order. If its process has died, whoever watches that
// may yet say why.
func (wr *wireRank) reportUnreadable(rank int, cause error) {
	wr.report(&deadlock.Report{Kind: deadlock.ReportLost, Peer: rank, Text: cause.Error()})
}

// release ends the exposure.
func (b *remoteData) release() {
	b.wireRank.write(b.from, wire.Frame{Type: recordReleased, Call: b.number}, nil)
}
