package process

import (
	"fmt"
	"unsafe"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/mailbox"
)

func appendReport(buf []byte, r *deadlock.Report) []byte {
	buf = append(buf, byte(r.Kind))
	for _, x := range []int{r.Wait, r.Heard, r.Peer, r.Question} {
		buf = appendInt(buf, x)
	}
	buf = appendKey(buf, r.Call)
	for _, list := range [][]int{r.Waits, r.All, r.Received, r.Sent} {
		buf = appendInts(buf, list)
	}
	for _, s := range []string{r.Text, r.Function, r.Where} {
		buf = appendString(buf, s)
	}
	buf = appendInt(buf, listLen(r.Left))
	for _, u := range r.Left {
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
func decodeReport(b []byte) (*deadlock.Report, error) {
	d := decoder{rest: b}
	r := &deadlock.Report{
		Kind:     deadlock.ReportKind(d.byte()),
		Wait:     d.int(),
		Heard:    d.int(),
		Peer:     d.int(),
		Question: d.int(),
		Call:     d.key(),
		Waits:    d.ints(),
		All:      d.ints(),
		Received: d.ints(),
		Sent:     d.ints(),
		Text:     d.string(),
		Function: d.string(),
		Where:    d.string(),
		Left:     d.unreceived(),
	}
	d.kind(byte(r.Kind), byte(deadlock.ReportKinds))
	if len(r.Received) != len(r.Waits) {
		d.fail("length", fmt.Sprintf("%d counters", len(r.Received)), fmt.Sprint(len(r.Waits)))
	}
	return r, d.end("report")
}

func appendVerdict(buf []byte, v *deadlock.Verdict) []byte {
	buf = append(buf, byte(v.Kind))
	for _, x := range []int{v.Question, v.Wait, v.Rank, v.Count} {
		buf = appendInt(buf, x)
	}
	buf = appendKey(buf, v.Call)
	buf = appendString(buf, v.Text)
	buf = appendInt(buf, listLen(v.Failed))
	for _, k := range v.Failed {
		buf = appendKey(buf, k)
	}
	if v.Deadlock == nil {
		return appendInt(buf, 0)
	}
	return appendDeadlock(buf, v.Deadlock)
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
func decodeVerdict(b []byte) (*deadlock.Verdict, error) {
	d := decoder{rest: b}
	v := &deadlock.Verdict{
		Kind:     deadlock.VerdictKind(d.byte()),
		Question: d.int(),
		Wait:     d.int(),
		Rank:     d.int(),
		Count:    d.int(),
		Call:     d.key(),
		Text:     d.string(),
	}
	if n := d.list(16); n >= 0 {
		v.Failed = make([]deadlock.CallKey, n)
		for i := range v.Failed {
			v.Failed[i] = d.key()
		}
	}
	v.Deadlock = d.deadlock()
	d.kind(byte(v.Kind), byte(deadlock.VerdictKinds))
	if v.Kind == deadlock.VerdictDeadlock && (v.Deadlock == nil || len(v.Deadlock.Waits) == 0) {
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

func appendKey(buf []byte, k deadlock.CallKey) []byte {
	return appendInt(appendInt(buf, int(k.Group)), int(k.Number))
}

func (d *decoder) key() deadlock.CallKey {
	return deadlock.CallKey{Group: d.uint64(), Number: d.uint64()}
}

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
func readReport(f *frame, size int) (*deadlock.Report, error) {
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
func checkReport(r *deadlock.Report, size int) error {
	for _, list := range [][]int{r.Waits, r.All, {r.Peer}} {
		for _, x := range list {
			if x < 0 || x >= size {
				return outOfRange(x, size)
			}
		}
	}
	if counts := r.Kind <= deadlock.ReportIdle && r.Kind != deadlock.ReportRuns; counts && len(r.Sent) != size {
		return &FrameError{"length", fmt.Sprintf("%d counters", len(r.Sent)), fmt.Sprint(size)}
	}
	return nil
}

func alienType(f *frame) error {
	return &FrameError{"alien", fmt.Sprintf("type %d", f.typ), "another, from that source"}
}

func outOfRange(rank, size int) error {
	return &FrameError{"alien", comm.RankList([]int{rank}), fmt.Sprintf("0..%d", size-1)}
}
