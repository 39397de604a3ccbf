package wire

import (
	"encoding/binary"

	"tpsh/internal/crc32c"
)

// LargeWrite is the length from which a payload is written from where it is.
const LargeWrite = 16 << 10

// AppendRuns appends to runs a frame with the next of a payload, of which it has
// at most so many bytes, and counts it. Short bytes go to the end of buf, of
// which runs then hold them.
func AppendRuns(buf []byte, runs [][]byte, f *Frame, payload *Parts, number *uint32, most int) ([]byte, [][]byte) {
	at := len(buf)
	if payload.Len() < LargeWrite {
		buf = AppendNext(buf, f, payload, number)
		return buf, append(runs, buf[at:])
	}
	n := f.next(payload, number, most)
	buf = appendHeader(buf, f, n)
	header := buf[at:]
	sum := crc32c.Checksum(header[:checkedBytes])
	runs = append(runs, header)
	for n > 0 {
		run := payload.Next(n)
		sum = crc32c.Update(sum, run)
		runs = append(runs, run)
		n -= len(run)
	}
	binary.LittleEndian.PutUint32(header[checkedBytes:], sum)
	return buf, runs
}

// AppendNext appends a frame with the next of a payload, and counts it.
func AppendNext(buf []byte, f *Frame, payload *Parts, number *uint32) []byte {
	n := f.next(payload, number, MaxPayload)
	at := len(buf)
	buf = appendHeader(buf, f, n)
	for n > 0 {
		run := payload.Next(n)
		buf = append(buf, run...)
		n -= len(run)
	}
	return seal(buf, at)
}

// next makes f the frame with the next of a payload, at most so many bytes,
// counts it, and returns how much that is.
func (f *Frame) next(payload *Parts, number *uint32, most int) int {
	n := min(payload.Len(), most)
	f.Rest, f.More, f.Number = payload.Len(), payload.Len() > n, *number
	*number++
	return n
}

// Parts is the rest of a message in two parts.
type Parts struct{ Head, Body []byte }

func (p *Parts) Len() int { return len(p.Head) + len(p.Body) }

// Next takes at most n bytes from the front, all of one part.
func (p *Parts) Next(n int) (run []byte) {
	if len(p.Head) == 0 {
		p.Head, p.Body = p.Body, nil
	}
	n = min(n, len(p.Head))
	run, p.Head = p.Head[:n], p.Head[n:]
	return run
}
