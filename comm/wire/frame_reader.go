package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A FrameReader decodes the frames of a stream. It reads as many bytes as there
// are, and keeps those not used yet; so it can be given them as they come.
//
// No length that a header claims makes it allocate more than firstBytes, or
// more than as much as has arrived, twice.
type FrameReader struct {
	Stream io.Reader // for next

	header  [HeaderBytes]byte
	have    int    // bytes of the frame in progress that are there
	length  int    // of its payload, once the header is there
	scratch []byte // for its payload
	into    []byte // where its payload goes instead, if that is long enough

	// bufferFor, unless it is nil, is asked with the numbers of a frame that begins a
	// long message where to read it to. It returns nil, or memory for all of the
	// message.
	bufferFor func(f *Frame) []byte

	ahead  []byte // bytes read beyond the frame in progress
	buffer []byte // of ahead
	frame  Frame  // that pull returns
}

const (
	// firstBytes is how much memory a payload gets before any of it has
	// arrived.
	firstBytes = 4 << 10
	// aheadBytes is how much is read at a time where less is needed.
	aheadBytes = 32 << 10
)

// pull returns the next frame, of the bytes that read gives. Its payload is transient, unless
// it was read to r.into. pull returns io.EOF if the stream ends between two
// frames, a *FrameError if the bytes are no frame, and otherwise the error of
// read. After an error the place where the next frame starts is unknown, unless
// it was ErrAgain, with which read says that there is nothing yet.
func (r *FrameReader) pull(read func([]byte) (int, error)) (*Frame, error) {
	for {
		to := r.target()
		if len(to) == 0 {
			return r.finish()
		}
		n, err := r.some(to, read)
		if r.have += n; r.have == HeaderBytes && n > 0 {
			if r.length, err = checkHeader(r.header[:]); err != nil {
				return nil, err
			}
			if r.bufferFor != nil && len(r.into) == 0 && r.length >= LeastBuffered {
				r.decode(nil)
				r.into = r.bufferFor(&r.frame)
			}
		}
		if n == 0 && err != nil {
			return nil, r.ended(err)
		}
	}
}

// ErrAgain says that there is nothing to read yet.
var ErrAgain = errors.New("nothing to read yet")

// some reads at least a byte to b, unless there is an error.
func (r *FrameReader) some(b []byte, read func([]byte) (int, error)) (int, error) {
	if len(r.ahead) == 0 {
		if len(b) >= aheadBytes || r.have < HeaderBytes && len(r.into) > 0 {
			return read(b) // the rest has a place of its own
		}
		if r.buffer == nil {
			r.buffer = make([]byte, aheadBytes)
		}
		n, err := read(r.buffer)
		if r.ahead = r.buffer[:n]; n == 0 {
			return 0, err
		}
	}
	n := copy(b, r.ahead)
	r.ahead = r.ahead[n:]
	return n, nil
}

// target returns where the next bytes of the frame in progress go, which is
// nowhere if all are there.
func (r *FrameReader) target() []byte {
	if r.have < HeaderBytes {
		return r.header[r.have:]
	}
	got := r.have - HeaderBytes
	if len(r.into) >= r.length {
		return r.into[got:r.length]
	}
	if got == cap(r.scratch) && got < r.length {
		r.scratch = slices.Grow(r.scratch[:got], min(r.length-got, max(got, firstBytes)))
	}
	return r.scratch[got:min(r.length, cap(r.scratch))]
}

// finish returns the frame of which all is there.
func (r *FrameReader) finish() (*Frame, error) {
	h, payload, transient := r.header[:], r.scratch[:min(r.length, cap(r.scratch))], true
	if len(r.into) >= r.length && r.length > 0 {
		payload, transient = r.into[:r.length], false
	}
	if got, want := checksum(h, payload), binary.LittleEndian.Uint32(h[checkedBytes:]); got != want {
		return nil, &FrameError{"checksum", fmt.Sprintf("%08x", got), fmt.Sprintf("%08x", want)}
	}
	r.have = 0
	r.decode(payload)
	r.frame.Transient = transient
	return &r.frame, nil
}

// LeastBuffered is the length from which a payload is worth a place of its own.
const LeastBuffered = 16 << 10

// decode decodes the header, which is there, to the frame.
func (r *FrameReader) decode(payload []byte) {
	h := r.header[:]
	r.frame = Frame{
		Type:    FrameType(h[5]),
		More:    h[6] == 1,
		Beside:  h[6] == 2,
		Source:  int(binary.LittleEndian.Uint32(h[8:])),
		Step:    int(binary.LittleEndian.Uint32(h[12:])),
		Group:   binary.LittleEndian.Uint64(h[16:]),
		Call:    binary.LittleEndian.Uint64(h[24:]),
		Tag:     int(binary.LittleEndian.Uint64(h[32:])),
		Rest:    int(binary.LittleEndian.Uint64(h[48:])),
		Payload: payload,

		Generation: binary.LittleEndian.Uint32(h[40:]),
		Number:     binary.LittleEndian.Uint32(h[44:]),
	}
}

// ended returns the error of a stream that has given no more bytes.
func (r *FrameReader) ended(err error) error {
	if err != io.EOF && err != io.ErrUnexpectedEOF || r.have == 0 {
		return err
	}
	if r.have < HeaderBytes {
		return truncated(r.have, HeaderBytes, "header")
	}
	return truncated(r.have-HeaderBytes, r.length, "payload")
}

// truncated is the error of an end of the stream in the middle of a part of a
// frame that has want bytes.
func truncated(got, want int, part string) error {
	return &FrameError{"truncated", fmt.Sprintf("%d bytes of the %s", got, part), fmt.Sprint(want)}
}

// Next is pull for the bytes of the stream. The payload of the result is the
// caller's to keep.
func (r *FrameReader) Next() (*Frame, error) {
	f, err := r.pull(r.Stream.Read)
	if err != nil {
		return nil, err
	}
	own := *f
	own.Transient, own.Payload = false, nil
	if len(f.Payload) > 0 {
		own.Payload = bytes.Clone(f.Payload)
	}
	return &own, nil
}

// checkHeader returns the length of the payload that h announces.
func checkHeader(h []byte) (int, error) {
	rest, length := binary.LittleEndian.Uint64(h[48:]), binary.LittleEndian.Uint32(h[56:])
	switch {
	case string(h[:4]) != frameMagic:
		return 0, &FrameError{"alien", fmt.Sprintf("%q", h[:4]), fmt.Sprintf("%q", frameMagic)}
	case h[4] != frameVersion:
		return 0, &FrameError{"version", fmt.Sprint(h[4]), fmt.Sprint(frameVersion)}
	case h[5] == 0 || h[5] >= byte(frameTypes):
		return 0, &FrameError{"alien", fmt.Sprintf("type %d", h[5]), fmt.Sprintf("1..%d", frameTypes-1)}
	case h[6] > 2 || h[7] != 0:
		return 0, &FrameError{"alien", fmt.Sprintf("flags %d, %d", h[6], h[7]), "0..2, 0"}
	case length > MaxPayload:
		return 0, &FrameError{"length", fmt.Sprint(length), fmt.Sprintf("at most %d", MaxPayload)}
	case rest > MaxMessage || rest < uint64(length) || h[6] != 0 != (rest > uint64(length)):
		return 0, &FrameError{"length", fmt.Sprintf("%d of %d", length, rest), fmt.Sprintf("at most %d in all", MaxMessage)}
	}
	return int(length), nil
}
