package process

import (
	"encoding/binary"
	"fmt"
)

// A frame is what ranks that share no memory exchange: a header of fixed
// length and a payload. On the wire, all numbers little-endian:
//
//	offset  bytes  field
//	 0      4      magic, "tpsh"
//	 4      1      version, 3
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
// Every frame has one encoding, so what decodes encodes to the same bytes.
type frame struct {
	typ        frameType
	more       bool
	beside     bool // whether the rest of the message comes beside the stream
	source     int  // a rank of the fabric
	group      uint64
	call       uint64
	step       int
	tag        int
	generation uint32
	number     uint32
	rest       int // bytes of the message from this frame on
	payload    []byte
	transient  bool   // whether payload is only there until the frame has been taken in
	data       []byte // what comes behind payload, if it has memory of its own
}

// A frameType says what a frame's payload is.
type frameType uint8

const (
	// frameContract carries a contract: what a call is, and its Meta.
	frameContract frameType = 1 + iota
	// frameDesc carries the full Desc of a call whose contract did not match.
	frameDesc
	// frameData carries part of a block of a collective.
	frameData
	// frameMessage carries part of what Send passes to Recv.
	frameMessage
	// frameReport carries what a rank knows of its own waiting or failure.
	frameReport
	// frameVerdict carries what was found from the reports.
	frameVerdict
	// frameHeartbeat carries nothing: it says that its sender is there.
	frameHeartbeat

	frameTypes // one more than the last type
)

const (
	frameMagic   = "tpsh"
	frameVersion = 3
	headerBytes  = 64
	checkedBytes = 60 // the part of the header that the checksum covers

	// maxPayload is the longest payload that a frame may have. A longer
	// message takes several frames.
	maxPayload = 320 << 10

	// maxMessage is how long a message may be.
	maxMessage = 1 << 36
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

// appendFrame appends the encoding of f to buf and returns the result. It
// panics if the payload is longer than maxPayload or a number does not fit.
func appendFrame(buf []byte, f *frame) []byte {
	at := len(buf)
	return seal(append(appendHeader(buf, f, len(f.payload)), f.payload...), at)
}

// appendHeader appends the header of a frame with a payload of n bytes, but for
// the checksum. It panics as appendFrame does.
func appendHeader(buf []byte, f *frame, n int) []byte {
	if n > maxPayload || f.rest < n || uint(f.source) > 1<<32-1 || uint(f.step) > 1<<32-1 {
		panic(fmt.Sprintf("comm: frame of rank %d, step %d with %d bytes", f.source, f.step, n))
	}
	buf = append(buf, frameMagic...)
	buf = append(buf, frameVersion, byte(f.typ), restByte(f), 0)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(f.source))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(f.step))
	buf = binary.LittleEndian.AppendUint64(buf, f.group)
	buf = binary.LittleEndian.AppendUint64(buf, f.call)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(f.tag))
	buf = binary.LittleEndian.AppendUint32(buf, f.generation)
	buf = binary.LittleEndian.AppendUint32(buf, f.number)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(f.rest))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(n))
	return append(buf, 0, 0, 0, 0)
}

// seal sets the checksum of the frame that starts at a byte of buf and ends
// with it.
func seal(buf []byte, at int) []byte {
	f := buf[at:]
	binary.LittleEndian.PutUint32(f[checkedBytes:], checksum(f, f[headerBytes:]))
	return buf
}

// restByte says how the rest of the message of f comes.
func restByte(f *frame) byte {
	if f.beside {
		return 2
	}
	return moreByte(f.more)
}

func moreByte(more bool) byte {
	if more {
		return 1
	}
	return 0
}

func checksum(header, payload []byte) uint32 {
	return crc(crc(0, header[:checkedBytes]), payload)
}
