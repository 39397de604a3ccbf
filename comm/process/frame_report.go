package process

import (
	"fmt"
	"unsafe"

	"tpsh/comm"
	"tpsh/comm/mailbox"
)

func appendReport(buf []byte, r *report) []byte {
	buf = append(buf, byte(r.kind))
	for _, x := range []int{r.wait, r.heard, r.peer, r.question} {
		buf = appendInt(buf, x)
	}
	buf = appendKey(buf, r.what)
	for _, list := range [][]int{r.waits, r.all, r.received, r.sent} {
		buf = appendInts(buf, list)
	}
	for _, s := range []string{r.text, r.function, r.where} {
		buf = appendString(buf, s)
	}
	buf = appendInt(buf, listLen(r.left))
	for _, u := range r.left {
		buf = appendUnreceived(buf, u)
	}
	return buf
}

func appendUnreceived(buf []byte, u comm.Unreceived) []byte {
	for _, x := range []int{u.Src, u.Dst, u.Tag} {
		buf = appendInt(buf, x)
	}
	return appendString(appendString(buf, u.Group), u.Where)
}

// unreceived takes what appendUnreceived appends. One takes at least 40 bytes.
func (d *decoder) unreceived() []comm.Unreceived {
	n := d.list(40)
	if n < 0 {
		return nil
	}
	list := make([]comm.Unreceived, n)
	for i := range list {
		list[i] = comm.Unreceived{Src: d.int(), Dst: d.int(), Tag: d.int(), Group: d.string(), Where: d.string()}
	}
	return list
}

// decodeReport decodes what appendReport appends, and nothing else.
func decodeReport(b []byte) (*report, error) {
	d := decoder{rest: b}
	r := &report{
		kind:     reportKind(d.byte()),
		wait:     d.int(),
		heard:    d.int(),
		peer:     d.int(),
		question: d.int(),
		what:     d.key(),
		waits:    d.ints(),
		all:      d.ints(),
		received: d.ints(),
		sent:     d.ints(),
		text:     d.string(),
		function: d.string(),
		where:    d.string(),
		left:     d.unreceived(),
	}
	d.kind(byte(r.kind), byte(reportKinds))
	if len(r.received) != len(r.waits) {
		d.fail("length", fmt.Sprintf("%d counters", len(r.received)), fmt.Sprint(len(r.waits)))
	}
	return r, d.end("report")
}

func appendVerdict(buf []byte, v *verdict) []byte {
	buf = append(buf, byte(v.kind))
	for _, x := range []int{v.question, v.wait, v.rank, v.count} {
		buf = appendInt(buf, x)
	}
	buf = appendKey(buf, v.what)
	buf = appendString(buf, v.text)
	buf = appendInt(buf, listLen(v.failed))
	for _, k := range v.failed {
		buf = appendKey(buf, k)
	}
	if v.deadlock == nil {
		return appendInt(buf, 0)
	}
	return appendDeadlock(buf, v.deadlock)
}

// appendDeadlock appends the number of waits, the waits, and the ended ranks.
func appendDeadlock(buf []byte, e *comm.DeadlockError) []byte {
	buf = appendInt(buf, listLen(e.Waits))
	for _, w := range e.Waits {
		buf = appendInt(buf, w.Rank)
		for _, s := range []string{w.Function, w.Text, w.Where} {
			buf = appendString(buf, s)
		}
		buf = appendInts(buf, w.For)
	}
	return appendInts(buf, e.Ended)
}

// decodeVerdict decodes what appendVerdict appends, and nothing else.
func decodeVerdict(b []byte) (*verdict, error) {
	d := decoder{rest: b}
	v := &verdict{
		kind:     verdictKind(d.byte()),
		question: d.int(),
		wait:     d.int(),
		rank:     d.int(),
		count:    d.int(),
		what:     d.key(),
		text:     d.string(),
	}
	if n := d.list(16); n >= 0 {
		v.failed = make([]callKey, n)
		for i := range v.failed {
			v.failed[i] = d.key()
		}
	}
	v.deadlock = d.deadlock()
	d.kind(byte(v.kind), byte(verdictKinds))
	if v.kind == verdictDeadlock && (v.deadlock == nil || len(v.deadlock.Waits) == 0) {
		d.fail("length", "a deadlock of no ranks", "1 or more")
	}
	return v, d.end("verdict")
}

// deadlock takes what appendDeadlock appends, or a 0 for none. A wait takes at
// least 40 bytes.
func (d *decoder) deadlock() *comm.DeadlockError {
	n := d.list(40)
	if n < 0 {
		return nil
	}
	e := &comm.DeadlockError{Waits: make([]comm.Wait, n)}
	for i := range e.Waits {
		e.Waits[i] = comm.Wait{Rank: d.int(), Function: d.string(), Text: d.string(), Where: d.string(), For: d.ints()}
	}
	e.Ended = d.ints()
	return e
}

func appendKey(buf []byte, k callKey) []byte {
	return appendInt(appendInt(buf, int(k.group)), int(k.number))
}

func (d *decoder) key() callKey { return callKey{d.uint64(), d.uint64()} }

func appendString(buf []byte, s string) []byte { return append(appendInt(buf, len(s)), s...) }

func appendInts(buf []byte, list []int) []byte {
	buf = appendInt(buf, listLen(list))
	for _, x := range list {
		buf = appendInt(buf, x)
	}
	return buf
}

func (d *decoder) ints() []int {
	n := d.list(8)
	if n < 0 {
		return nil
	}
	list := make([]int, n)
	for i := range list {
		list[i] = d.int()
	}
	return list
}

// kind checks a kind, which is above 0 and below end.
func (d *decoder) kind(kind, end byte) {
	if kind == 0 || kind >= end {
		d.fail("alien", fmt.Sprintf("kind %d", kind), fmt.Sprintf("1..%d", end-1))
	}
}

// end returns the error of decoding what, which is to be over.
func (d *decoder) end(what string) error {
	if d.err == nil && len(d.rest) > 0 {
		d.fail("length", fmt.Sprintf("%d bytes more", len(d.rest)), "none")
	}
	if d.err != nil {
		return fmt.Errorf("%s: %w", what, d.err)
	}
	return nil
}

// appendEnvelope appends the encoding of what an envelope holds but for its ranks:
// the line of its Send, the name of the group, its Meta, and its Data to the
// end.
func appendEnvelope(buf []byte, l *mailbox.Envelope) []byte {
	return append(appendEnvelopeHead(buf, l), l.Message.Data...)
}

// appendEnvelopeHead appends what comes before Data.
func appendEnvelopeHead(buf []byte, l *mailbox.Envelope) []byte {
	buf = appendString(appendString(buf, l.Where), l.Group)
	return append(appendInt(buf, len(l.Message.Meta)), l.Message.Meta...)
}

// decodeEnvelope decodes what appendEnvelope appends. The slices and texts of the
// result are parts of b, which may not change any more.
func decodeEnvelope(b []byte) (*mailbox.Envelope, error) {
	d := decoder{rest: b}
	l := &mailbox.Envelope{Where: textOf(d.take(d.int())), Group: textOf(d.take(d.int()))}
	l.Message.Meta = d.take(d.size())
	l.Message.Data = d.rest
	if d.err != nil {
		return nil, fmt.Errorf("message: %w", d.err)
	}
	return l, nil
}

// textOf returns b, which does not change any more, as a string.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// appendSigned appends the encoding of a call as its report shows it: its
// kind, its line, and its Desc to the end.
func appendSigned(buf []byte, s *comm.SignedCall) []byte {
	return appendDesc(appendString(append(buf, byte(s.Kind)), s.Where), &s.Desc)
}

// decodeSigned decodes what appendSigned appends, and nothing else.
func decodeSigned(b []byte) (*comm.SignedCall, error) {
	d := decoder{rest: b}
	s := &comm.SignedCall{Kind: comm.Kind(d.byte()), Where: d.string()}
	if s.Kind > comm.Permute {
		d.fail("alien", fmt.Sprintf("kind %d", s.Kind), fmt.Sprintf("0..%d", comm.Permute))
	}
	if d.err != nil {
		return nil, fmt.Errorf("call: %w", d.err)
	}
	desc, err := decodeDesc(d.rest)
	if err != nil {
		return nil, err
	}
	s.Desc = *desc
	return s, nil
}

// readReport returns the report of a frame from one of size ranks.
func readReport(f *frame, size int) (*report, error) {
	if f.typ != frameReport {
		return nil, alienType(f)
	}
	r, err := decodeReport(f.payload)
	if err != nil {
		return nil, err
	}
	return r, checkReport(r, size)
}

// checkReport checks the numbers of a report that are to be ranks.
func checkReport(r *report, size int) error {
	for _, list := range [][]int{r.waits, r.all, {r.peer}} {
		for _, x := range list {
			if x < 0 || x >= size {
				return outOfRange(x, size)
			}
		}
	}
	if counts := r.kind <= reportIdle && r.kind != reportRuns; counts && len(r.sent) != size {
		return &FrameError{"length", fmt.Sprintf("%d counters", len(r.sent)), fmt.Sprint(size)}
	}
	return nil
}

func alienType(f *frame) error {
	return &FrameError{"alien", fmt.Sprintf("type %d", f.typ), "another, from that source"}
}

func outOfRange(rank, size int) error {
	return &FrameError{"alien", comm.RankList([]int{rank}), fmt.Sprintf("0..%d", size-1)}
}
