package process

import "encoding/binary"

// largeWrite is the length from which a payload is written from where it is.
const largeWrite = 16 << 10

// appendRuns appends to runs a frame with the next of a payload, of which it has
// at most so many bytes, and counts it. What is short goes to the end of buf, of
// which runs then hold it.
func appendRuns(buf []byte, runs [][]byte, f *frame, payload *parts, number *uint32, most int) ([]byte, [][]byte) {
	at := len(buf)
	if payload.len() < largeWrite {
		buf = appendNext(buf, f, payload, number)
		return buf, append(runs, buf[at:])
	}
	n := f.next(payload, number, most)
	buf = appendHeader(buf, f, n)
	header := buf[at:]
	sum := crc(0, header[:checkedBytes])
	runs = append(runs, header)
	for n > 0 {
		run := payload.next(n)
		sum = crc(sum, run)
		runs = append(runs, run)
		n -= len(run)
	}
	binary.LittleEndian.PutUint32(header[checkedBytes:], sum)
	return buf, runs
}

// appendNext appends a frame with the next of a payload, and counts it.
func appendNext(buf []byte, f *frame, payload *parts, number *uint32) []byte {
	n := f.next(payload, number, maxPayload)
	at := len(buf)
	buf = appendHeader(buf, f, n)
	for n > 0 {
		run := payload.next(n)
		buf = append(buf, run...)
		n -= len(run)
	}
	return seal(buf, at)
}

// next makes f the frame with the next of a payload, at most so many bytes,
// counts it, and returns how much that is.
func (f *frame) next(payload *parts, number *uint32, most int) int {
	n := min(payload.len(), most)
	f.rest, f.more, f.number = payload.len(), payload.len() > n, *number
	*number++
	return n
}

// parts is what is left of a message in two parts.
type parts struct{ head, body []byte }

func (p *parts) len() int { return len(p.head) + len(p.body) }

// next takes at most n bytes from the front, all of one part.
func (p *parts) next(n int) (run []byte) {
	if len(p.head) == 0 {
		p.head, p.body = p.body, nil
	}
	n = min(n, len(p.head))
	run, p.head = p.head[:n], p.head[n:]
	return run
}
