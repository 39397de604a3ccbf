package comm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// A frame is what ranks that share no memory exchange: a header of fixed
// length and a payload. On the wire, all numbers little-endian:
//
//	offset  bytes  field
//	 0      4      magic, "tpsh"
//	 4      1      version, 2
//	 5      1      type
//	 6      1      more: 1 if the message goes on in the sender's next frame
//	               of the same type, group, call, step and tag, else 0
//	 7      1      0
//	 8      4      source, a rank of the fabric
//	12      4      step of the schedule
//	16      8      group, a hash
//	24      8      number of the call on the group
//	32      8      tag of a message, signed
//	40      4      generation of the fabric
//	44      4      number of the frame on its stream, modulo 1<<32
//	48      4      length of the payload
//	52      4      CRC-32C of the 52 bytes before and of the payload
//	56             payload
//
// Every frame has one encoding, so what decodes encodes to the same bytes.
type frame struct {
	typ        frameType
	more       bool
	source     int // a rank of the fabric
	group      uint64
	call       uint64
	step       int
	tag        int
	generation uint32
	number     uint32
	payload    []byte
	lent       bool // whether payload is only there until the frame has been taken in
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
	frameVersion = 2
	headerBytes  = 56
	checkedBytes = 52 // the part of the header that the checksum covers

	// maxPayload is the longest payload that a frame may have. A longer
	// message takes several frames.
	maxPayload = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
	if n > maxPayload || uint(f.source) > 1<<32-1 || uint(f.step) > 1<<32-1 {
		panic(fmt.Sprintf("comm: frame of rank %d, step %d with %d bytes", f.source, f.step, n))
	}
	buf = append(buf, frameMagic...)
	buf = append(buf, frameVersion, byte(f.typ), moreByte(f.more), 0)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(f.source))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(f.step))
	buf = binary.LittleEndian.AppendUint64(buf, f.group)
	buf = binary.LittleEndian.AppendUint64(buf, f.call)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(f.tag))
	buf = binary.LittleEndian.AppendUint32(buf, f.generation)
	buf = binary.LittleEndian.AppendUint32(buf, f.number)
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

func moreByte(more bool) byte {
	if more {
		return 1
	}
	return 0
}

func checksum(header, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(header[:checkedBytes], castagnoli), castagnoli, payload)
}

// A frameReader decodes the frames of a stream.
type frameReader struct {
	stream io.Reader
	header [headerBytes]byte
	buf    []byte // the payload being read
}

// next reads one frame, whose payload is the caller's to keep. It returns
// io.EOF if the stream ends between two frames, a *FrameError if what comes is
// no frame, and otherwise the error of the stream. After an error the place
// where the next frame starts is unknown.
//
// No length that a header claims makes next allocate more than firstBytes, or
// more than as much as has arrived.
func (r *frameReader) next() (*frame, error) {
	h := r.header[:]
	if n, err := io.ReadFull(r.stream, h); err != nil {
		return nil, truncated(err, n, headerBytes, "header")
	}
	length, err := checkHeader(h)
	if err != nil {
		return nil, err
	}
	if err := r.readPayload(length); err != nil {
		return nil, err
	}
	if got, want := checksum(h, r.buf), binary.LittleEndian.Uint32(h[52:]); got != want {
		return nil, &FrameError{"checksum", fmt.Sprintf("%08x", got), fmt.Sprintf("%08x", want)}
	}
	f := &frame{
		typ:    frameType(h[5]),
		more:   h[6] == 1,
		source: int(binary.LittleEndian.Uint32(h[8:])),
		step:   int(binary.LittleEndian.Uint32(h[12:])),
		group:  binary.LittleEndian.Uint64(h[16:]),
		call:   binary.LittleEndian.Uint64(h[24:]),
		tag:    int(binary.LittleEndian.Uint64(h[32:])),

		generation: binary.LittleEndian.Uint32(h[40:]),
		number:     binary.LittleEndian.Uint32(h[44:]),
	}
	if length > 0 {
		f.payload = bytes.Clone(r.buf)
	}
	return f, nil
}

// firstBytes is how much memory a payload gets before any of it has arrived.
const firstBytes = 4 << 10

// readPayload reads length bytes into buf, which grows with what arrives.
func (r *frameReader) readPayload(length int) error {
	r.buf = r.buf[:0]
	for len(r.buf) < length {
		have := len(r.buf)
		r.buf = slices.Grow(r.buf, min(length-have, max(have, firstBytes)))
		n, err := io.ReadFull(r.stream, r.buf[have:min(length, cap(r.buf))])
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // the frame has begun
		}
		if err != nil {
			return truncated(err, have+n, length, "payload")
		}
		r.buf = r.buf[:have+n]
	}
	return nil
}

// checkHeader returns the length of the payload that h announces.
func checkHeader(h []byte) (int, error) {
	length := binary.LittleEndian.Uint32(h[48:])
	switch {
	case string(h[:4]) != frameMagic:
		return 0, &FrameError{"alien", fmt.Sprintf("%q", h[:4]), fmt.Sprintf("%q", frameMagic)}
	case h[4] != frameVersion:
		return 0, &FrameError{"version", fmt.Sprint(h[4]), fmt.Sprint(frameVersion)}
	case h[5] == 0 || h[5] >= byte(frameTypes):
		return 0, &FrameError{"alien", fmt.Sprintf("type %d", h[5]), fmt.Sprintf("1..%d", frameTypes-1)}
	case h[6] > 1 || h[7] != 0:
		return 0, &FrameError{"alien", fmt.Sprintf("flags %d, %d", h[6], h[7]), "0..1, 0"}
	case length > maxPayload:
		return 0, &FrameError{"length", fmt.Sprint(length), fmt.Sprintf("at most %d", maxPayload)}
	}
	return int(length), nil
}

// truncated makes a *FrameError of an end of the stream in the middle of part,
// a part of a frame that has want bytes, and leaves other errors alone.
func truncated(err error, got, want int, part string) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return &FrameError{"truncated", fmt.Sprintf("%d bytes of the %s", got, part), fmt.Sprint(want)}
}
