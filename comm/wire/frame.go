package wire

import (
	"encoding/binary"
	"fmt"

	"tpsh/internal/crc32c"
)

// A Frame is the unit that ranks which share no memory exchange: a header of fixed
// length and a payload. On the wire, all numbers little-endian:
//
//	offset  bytes  field
//	 0      4      magic, "tpsh"
//	 4      1      version, 6
//	 5      1      type
//	 6      1      more: 1 if the message goes on in the sender's next frame
//	               of the same type, group, call, step and tag, 2 if its rest
//	               comes beside the stream, else 0
//	 7      1      0
//	 8      4      source, a rank of the fabric
//	12      4      step of the schedule
//	16      8      group, a hash
//	24      8      number of the call on the group
//	32      8      tag of a message, signed
//	40      4      generation of the fabric
//	44      4      number of the frame on its stream, modulo 1<<32
//	48      8      bytes of the message from this frame on
//	56      4      length of the payload
//	60      4      CRC-32C of the 60 bytes before and of the payload
//	64             payload
//
// Every frame has one encoding, so bytes that decode are encoded to the same again.
type Frame struct {
	Type       FrameType
	More       bool
	Beside     bool // whether the rest of the message comes beside the stream
	Source     int  // a rank of the fabric
	Group      uint64
	Call       uint64
	Step       int
	Tag        int
	Generation uint32
	Number     uint32
	Rest       int // bytes of the message from this frame on
	Payload    []byte
	Transient  bool   // whether payload is only there until the frame has been taken in
	Data       []byte // the bytes behind payload, if they have memory of their own
}

// A FrameType is the kind of a frame's payload.
type FrameType uint8

const (
	// FrameContract carries a contract: the hash of a call, and its Meta.
	FrameContract FrameType = 1 + iota
	// FrameDesc carries the full Desc of a call whose contract did not match.
	FrameDesc
	// FrameData carries part of a block of a collective.
	FrameData
	// FrameMessage carries part of a message from Send to Recv.
	FrameMessage
	// FrameReport carries a rank's news of its own waiting or failure.
	FrameReport
	// FrameVerdict carries the supervisor's findings from the reports.
	FrameVerdict
	// FrameHeartbeat carries nothing: it says that its sender is there.
	FrameHeartbeat
	// FrameContracts carries the contracts of several members, in a hop of a relay.
	FrameContracts

	frameTypes // one more than the last type
)

const (
	frameMagic   = "tpsh"
	frameVersion = 6
	HeaderBytes  = 64
	checkedBytes = 60 // the part of the header that the checksum covers

	// MaxPayload is the longest payload that a frame may have. A longer
	// message takes several frames.
	MaxPayload = 320 << 10

	// MaxMessage is how long a message may be.
	MaxMessage = 1 << 36
)

// A FrameError says why bytes that a peer sent are no frame.
type FrameError struct {
	What string // "alien", "version", "length", "number", "checksum" or "truncated"
	Got  string
	Want string
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("frame: %s: got %s, want %s", e.What, e.Got, e.Want)
}

// AppendFrame appends the encoding of f to buf and returns the result. It
// panics if the payload is longer than MaxPayload or a number does not fit.
func AppendFrame(buf []byte, f *Frame) []byte {
	at := len(buf)
	return seal(append(appendHeader(buf, f, len(f.Payload)), f.Payload...), at)
}

// appendHeader appends the header of a frame with a payload of n bytes, but for
// the checksum. It panics as AppendFrame does.
func appendHeader(buf []byte, f *Frame, n int) []byte {
	if n > MaxPayload || f.Rest < n || uint(f.Source) > 1<<32-1 || uint(f.Step) > 1<<32-1 {
		panic(fmt.Sprintf("comm: frame of rank %d, step %d with %d bytes", f.Source, f.Step, n))
	}
	buf = append(buf, frameMagic...)
	buf = append(buf, frameVersion, byte(f.Type), restByte(f), 0)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(f.Source))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(f.Step))
	buf = binary.LittleEndian.AppendUint64(buf, f.Group)
	buf = binary.LittleEndian.AppendUint64(buf, f.Call)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(f.Tag))
	buf = binary.LittleEndian.AppendUint32(buf, f.Generation)
	buf = binary.LittleEndian.AppendUint32(buf, f.Number)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(f.Rest))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(n))
	return append(buf, 0, 0, 0, 0)
}

// seal sets the checksum of the frame that starts at a byte of buf and ends
// with it.
func seal(buf []byte, at int) []byte {
	f := buf[at:]
	binary.LittleEndian.PutUint32(f[checkedBytes:], checksum(f, f[HeaderBytes:]))
	return buf
}

// restByte says how the rest of the message of f comes.
func restByte(f *Frame) byte {
	if f.Beside {
		return 2
	}
	return MoreByte(f.More)
}

func MoreByte(more bool) byte {
	if more {
		return 1
	}
	return 0
}

func checksum(header, payload []byte) uint32 {
	return crc32c.Update(crc32c.Checksum(header[:checkedBytes]), payload)
}
